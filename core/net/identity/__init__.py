"""Whom a link leads to: certificates and passes."""
