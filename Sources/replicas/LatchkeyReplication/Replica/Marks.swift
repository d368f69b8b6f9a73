/// Compares this replica's state with that of others: the hashes that each has had at the same
/// places.
///
/// A replica whose hash differs writes its own to the log, so that all can count. It stops when
/// more others agree with each other than with it; and also when as many do, since none can tell
/// which is wrong. The majority goes on.
struct Marks: Sendable {
    /// How many places are remembered.
    private static let countMax = 8

    private struct Place: Sendable {
        let place: LogPlace
        /// Nil until it is computed.
        var own: LogEntry.Mark?
        /// The hash of each other writer.
        var others: [UInt64: UInt64] = [:]
        /// Whether this replica has written its own to the log.
        var isSaid = false
        /// When a different hash came first.
        var differs: UInt64?
    }

    /// How long others have time to write their hashes.
    static let graceNanoseconds: UInt64 = 5_000_000_000

    private var places: [Place] = []

    /// All replicas take a mark at a place.
    mutating func begin(_ place: LogPlace) {
        if places.count == Self.countMax { places.removeFirst() }
        places.append(Place(place: place))
    }

    /// This replica's own mark is computed.
    mutating func computed(_ mark: LogEntry.Mark, at now: UInt64) {
        change(mark.place, at: now) { $0.own = mark }
    }

    /// Takes the mark of another writer.
    mutating func heard(_ mark: LogEntry.Mark, of writer: UInt64, at now: UInt64) {
        change(mark.place, at: now) { place in
            guard place.others.count < LogPosition.writerCountMax else { return }
            place.others[writer] = mark.hash
        }
    }

    private mutating func change(
        _ place: LogPlace,
        at now: UInt64,
        _ body: (inout Place) -> Void
    ) {
        guard let index = places.lastIndex(where: { $0.place == place }) else { return }
        body(&places[index])
        guard let own = places[index].own, places[index].differs == nil,
            places[index].others.values.contains(where: { $0 != own.hash })
        else { return }
        places[index].differs = now
    }

    /// The mark to write next: one that others differ from, else the latest one.
    mutating func next() -> LogEntry.Mark? {
        let unsaid = places.indices.filter { places[$0].own != nil && !places[$0].isSaid }
        guard let index = unsaid.first(where: { places[$0].differs != nil }) ?? unsaid.last
        else { return nil }
        places[index].isSaid = true
        return places[index].own
    }

    /// Whether this replica must write its mark, although it has no change to propose.
    var isAsked: Bool {
        places.contains { $0.differs != nil && !$0.isSaid }
    }

    /// The place at which this replica differs from the others, if it must stop.
    func divergence(at now: UInt64) -> LogPlace? {
        places.first { place in
            guard let own = place.own, let since = place.differs else { return false }
            let agreeing = 1 + place.others.values.count { $0 == own.hash }
            var counts: [UInt64: Int] = [:]
            for hash in place.others.values where hash != own.hash { counts[hash, default: 0] += 1 }
            let differing = counts.values.max() ?? 0
            return differing > agreeing
                || differing == agreeing && now.elapsed(since: since) > Self.graceNanoseconds
        }?.place
    }
}
