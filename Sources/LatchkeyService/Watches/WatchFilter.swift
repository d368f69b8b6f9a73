internal import LatchkeyStore

/// The properties that a watcher follows.
enum WatchFilter: Hashable, Sendable {
    case name([UInt8])
    /// An empty prefix is that of all names.
    case prefix([UInt8])

    func matches(_ name: UnsafeRawBufferPointer) -> Bool {
        switch self {
        case .name(let wanted): unsafe name.elementsEqual(wanted)
        case .prefix(let prefix): unsafe name.starts(with: prefix)
        }
    }

    /// The bytes that all names have at their begin.
    var prefix: [UInt8] {
        switch self {
        case .name(let bytes), .prefix(let bytes): bytes
        }
    }
}
