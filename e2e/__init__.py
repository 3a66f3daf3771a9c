"""Proof against the running stack: a client cannot tell the frontend from SGLang's own server."""
