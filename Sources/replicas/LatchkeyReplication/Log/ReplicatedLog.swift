/// A log that several replicas append to and follow, in one order for all.
///
/// Two functions are the log: ``append(_:completion:)`` and ``follow(after:receive:)``. The others
/// ask where it ends, and change its server.
package protocol ReplicatedLog: Sendable {
    /// Adds an entry at the end.
    ///
    /// - Parameters:
    ///   - entry: At most ``LogBounds/changeByteCountMax`` bytes.
    ///   - completion: Called once, on a thread that it must not block. Followers can get the entry
    ///     before or after that.
    func append(_ entry: [UInt8], completion: @escaping @Sendable (LogAppend) -> Void)

    /// Delivers the entries after a place, in their order, each once, and goes on as they come.
    ///
    /// The entry at the place comes first, as ``LogEvent/last(_:_:)``, and again with each new
    /// connection: the log of an earlier backup can have grown beyond the place.
    ///
    /// Only one call follows at a time: the next one replaces the former one, whose `receive` can
    /// still be called for a moment.
    ///
    /// - Parameters:
    ///   - place: ``LogPlace/start`` for all.
    ///   - receive: Called on a thread that it must not block, one call after the other.
    func follow(after place: LogPlace, receive: @escaping @Sendable (LogEvent) -> Void)

    /// Asks for the place of the last entry: all that was acknowledged before the call is at it or
    /// before it.
    ///
    /// - Parameter completion: Given nil if there is no answer in time.
    func end(completion: @escaping @Sendable (LogPlace?) -> Void)

    /// Uses another server of the log, if there are several, because this one does not answer.
    func moveOn()
}

/// A place in a log.
///
/// Later entries have higher numbers, with gaps.
package struct LogPlace: Sendable, Hashable, Comparable {
    package let number: UInt64

    package init(_ number: UInt64) {
        self.number = number
    }

    /// Nil beyond the revisions of etcd, which have 63 bits.
    package init?(checking number: UInt64) {
        guard number < Int64.max else { return nil }
        self.number = number
    }

    /// Before the first entry.
    package static let start = Self(0)

    package static func < (one: Self, other: Self) -> Bool { one.number < other.number }
}

/// The outcome of an append.
package enum LogAppend: Sendable, Equatable {
    case appended
    /// The log is full. The entry is in it already, or never will be.
    case full(String)
    /// The entry is too long for the log. It is not in it, and never will be.
    case tooLarge(String)
    /// There was no answer: the entry can be in the log, now or later.
    case unknown(String)
}

/// An event for a follower of a log.
package enum LogEvent: Sendable {
    case entry(LogPlace, [UInt8])
    /// The entry at the place that is followed from; if the log has none there, the last one before
    /// it.
    case last(LogPlace, [UInt8])
    /// The log has forgotten entries after the place: a whole state is needed.
    case compacted
    /// The log ends before the place that was asked for: it is another log.
    case wentBack(end: LogPlace)
    /// The identity of the log: before its entries, and again when more of it is known.
    case identified(LogIdentity)
    /// It is another log than the one of the place, or the log no longer exists; with the reason.
    case otherLog(String)
    /// There is no connection, or no leader; the log tries again.
    case disconnected(String)
    /// There is a connection, and no entry before the last one that came is missing.
    case connected
}

/// The limits of a log.
package struct LogBounds: Sendable, Equatable {
    /// An entry that has this many bytes of changes takes no more.
    package let entryByteCountMax: Int
    /// A longer change gets an entry for itself, up to this length.
    package let changeByteCountMax: Int

    /// etcd takes requests of 1.5 MiB, the key included, unless `--max-request-bytes` is another
    /// number.
    ///
    /// - Parameter requestByteCountMax: The longest request that the log takes; nil for 1.5 MiB.
    package init(requestByteCountMax: Int? = nil) {
        // The rest is for the key, the head of the entry, and etcd's encoding of both.
        let room = requestByteCountMax.map { max(1, $0 - 1024) } ?? .max
        entryByteCountMax = min(1 << 20, room)
        changeByteCountMax = min(1_500_000, room)
    }
}
