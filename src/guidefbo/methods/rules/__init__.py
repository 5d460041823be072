"""The rules that come with the package, one record each."""
