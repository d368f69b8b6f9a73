/// Sees every access to a guarded value: the request, the wait, the entry and the exit.
///
/// A strategy calls, for each access and in this order: ``asks(_:)``; ``isBlocked(_:)`` if the
/// caller could not enter at once; ``enters(_:)`` as the first thing inside; ``leaves(_:)`` as the
/// last thing inside, also when the body throws: an access that enters after it sees the write.
/// An access with a deadline that passes ends in ``givesUp(_:)`` and does not enter.
/// With an asynchronous strategy `enters` and `leaves` are called on another thread than `asks`,
/// and both on the thread that runs the body.
///
/// Measuring uses it to decorate any strategy. The calls are specialised away for ``NoObserver``.
/// An observer must not block and must not enter the value that it observes.
public protocol EntryObserver: Sendable {
    /// The observer's memory of one access between the calls.
    associatedtype Entry: BitwiseCopyable & Sendable

    /// Whether the strategy must find out if the caller could enter at once; a lock is then tried
    /// before it is waited for.
    ///
    /// A constant, so the question costs nothing.
    static var isActive: Bool { get }

    func asks(_ request: AccessRequest) -> Entry
    func isBlocked(_ entry: inout Entry)
    func enters(_ entry: inout Entry)
    func leaves(_ entry: Entry)

    /// Called instead of ``enters(_:)`` if the caller's deadline passes first: there is no access.
    ///
    /// It has no default, because an observer that passes calls on to another one must pass on this
    /// one too.
    func givesUp(_ entry: Entry)
}

/// Observes nothing and costs nothing.
public struct NoObserver: EntryObserver {
    /// Nothing is remembered.
    public struct Entry: BitwiseCopyable, Sendable {
        @inlinable init() {}
    }

    /// False.
    @inlinable public static var isActive: Bool { false }

    /// Observes nothing.
    @inlinable public init() {}

    /// Does nothing.
    @inlinable public func asks(_ request: AccessRequest) -> Entry { Entry() }

    /// Does nothing.
    @inlinable public func isBlocked(_ entry: inout Entry) {}

    /// Does nothing.
    @inlinable public func enters(_ entry: inout Entry) {}

    /// Does nothing.
    @inlinable public func leaves(_ entry: Entry) {}

    /// Does nothing.
    @inlinable public func givesUp(_ entry: Entry) {}
}
