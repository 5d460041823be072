"""Figures of merit computed from recorded values."""
