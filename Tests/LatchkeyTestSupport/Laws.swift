// The laws are a library of their own, which outsiders use too.

@_exported public import LatchkeySyncTesting
