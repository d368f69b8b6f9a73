// A client names these types and the access functions without another import.
@_exported public import LatchkeySync

@_exported public import class LatchkeyContention.ContentionProfile
@_exported public import struct LatchkeyContention.ContentionSite
@_exported public import struct LatchkeyContention.Metered
@_exported public import enum LatchkeyContention.MeteringLevel
