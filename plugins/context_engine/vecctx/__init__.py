"""The plugin directory of a checkout: hosts look for register_context_engine or a ContextEngine here."""

from vecctx.hermes import register

__all__ = ["register"]
