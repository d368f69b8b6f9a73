import Foundation
public import LatchkeySync

/// Remembers every call, by access.
public final class RecordingObserver: EntryObserver {
    /// The memory of one access.
    public struct Entry: BitwiseCopyable, Sendable {
        let access: Int
    }

    /// One call to the observer.
    public enum Call: Equatable, Sendable {
        case asks(AccessMode)
        case isBlocked
        case enters
        case leaves
        case givesUp
    }

    /// True.
    public static var isActive: Bool { true }

    private let calls = Collected<[[Call]]>([])

    /// Nothing was heard yet.
    public init() {}

    /// The calls of each access, in the order in which the accesses were asked for.
    public var accesses: [[Call]] { calls.with { $0 } }

    /// Adds to ``accesses``.
    public func asks(_ request: AccessRequest) -> Entry {
        calls.with {
            $0.append([.asks(request.mode)])
            return Entry(access: $0.count - 1)
        }
    }

    /// Adds to ``accesses``.
    public func isBlocked(_ entry: inout Entry) {
        record(.isBlocked, entry)
    }

    /// Adds to ``accesses``.
    public func enters(_ entry: inout Entry) {
        record(.enters, entry)
    }

    /// Adds to ``accesses``.
    public func givesUp(_ entry: Entry) {
        record(.givesUp, entry)
    }

    /// Adds to ``accesses``.
    public func leaves(_ entry: Entry) {
        record(.leaves, entry)
    }

    private func record(_ call: Call, _ entry: Entry) {
        calls.with { $0[entry.access].append(call) }
    }
}

/// A value under a lock that is not under test.
///
/// SAFETY: `@unchecked Sendable` because `value` is used only while `lock` is held.
public final class Collected<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    /// The value to begin with.
    public init(_ value: Value) {
        self.value = value
    }

    /// Runs `body` while the lock is held.
    public func with<Result>(_ body: (inout Value) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&value)
    }
}
