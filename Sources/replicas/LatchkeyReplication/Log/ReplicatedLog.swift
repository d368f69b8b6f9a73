/// A log that several replicas append to and follow, in one order for all.
///
/// Two functions are the log: ``append(_:completion:)`` and ``follow(after:receive:)``. The others
/// ask where it ends, and let it forget its beginning.
package protocol ReplicatedLog: Sendable {
    /// Adds an entry at the end.
    ///
    /// - Parameters:
    ///   - entry: At most ``LogBounds/changeByteCountMax`` bytes.
    ///   - completion: Called once, on a thread that it must not block. The entry can come to those
    ///     who follow before or afterwards.
    func append(_ entry: [UInt8], completion: @escaping @Sendable (LogAppend) -> Void)

    /// Gives the entries behind a place, in their order, each once, and goes on as they come.
    ///
    /// The entry at the place comes first, as ``LogEvent/last(_:_:)``, and again with each new
    /// connection: the log of an earlier backup can have grown beyond the place.
    ///
    /// One at a time follows: the next call takes the place of the former one, whose `receive` can
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

    /// Uses another server of the log, if there are several: this one does not answer.
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

/// What became of an append.
package enum LogAppend: Sendable, Equatable {
    case appended
    /// The log is full. The entry is in it already, or never will be.
    case full(String)
    /// The entry is too long for the log. It is not in it, and never will be.
    case tooLarge(String)
    /// There was no answer: the entry can be in the log, now or later.
    case unknown(String)
}

/// What happens to one who follows.
package enum LogEvent: Sendable {
    case entry(LogPlace, [UInt8])
    /// What the log has at the place that is followed from, or before it if it has nothing there.
    case last(LogPlace, [UInt8])
    /// The log has no entries behind the place any more: a whole state is needed.
    case compacted
    /// The log is behind the place that was asked for: it is another log.
    case wentBack(end: LogPlace)
    /// Which log this is: before its entries, and again when more is known of it.
    case identified(LogIdentity)
    /// It is another log than the one of the place, or is none any more; why, in sentences.
    case otherLog(String)
    /// There is no connection, or no leader; the log goes on to try.
    case disconnected(String)
    /// All up to here came. Where it follows an entry, that one's place is meant.
    case connected
}

/// What a log takes.
package struct LogBounds: Sendable, Equatable {
    /// An entry that has this many bytes of changes takes no more.
    package let entryByteCountMax: Int
    /// A change that is longer than an entry of several gets one for itself, up to this length.
    package let changeByteCountMax: Int

    /// etcd takes requests of 1.5 MiB, the key included, if it was not told another number
    /// (`--max-request-bytes`).
    ///
    /// - Parameter requestByteCountMax: The longest request that the log takes; nil for 1.5 MiB.
    package init(requestByteCountMax: Int? = nil) {
        // The rest is for the key, the head of the entry, and what etcd puts around them.
        let room = requestByteCountMax.map { max(1, $0 - 1024) } ?? .max
        entryByteCountMax = min(1 << 20, room)
        changeByteCountMax = min(1_500_000, room)
    }
}
