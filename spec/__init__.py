"""The law: the semantics of lazy tensor execution as a state machine."""

SPEC_VERSION = "0.1.0"
