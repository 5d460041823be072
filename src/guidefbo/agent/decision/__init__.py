"""How an agent picks its next query from a posterior."""
