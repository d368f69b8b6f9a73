import LatchkeyGuards
import LatchkeyHTTP
import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyService
@testable import LatchkeyWatches

/// A pump without a thread, on a real store and journal, with streams whose clients read when the
/// test says so.
final class WatchRig {
    let store: PropertyStore
    let journal: Journal
    let pump: WatchPump
    let counters = WatchCounters()
    let answers = AnswerBudget(byteCountMax: 1 << 30)
    /// The revisions that the pump asked the journal for.
    let armed = Synchronized<[Revision], LockStrategy>([])
    private(set) var commits: [Commit] = []
    private let time = Synchronized<UInt64, LockStrategy>(1_000_000_000)
    /// The retry time of the last stream; the next one gets one millisecond more.
    private let retries = Synchronized<Int, LockStrategy>(999)
    /// The pump's time for a write to a stream.
    private let writeNanoseconds: UInt64
    /// The threads that serve the streams.
    let serving: FakeServing
    private var lastID: UInt64 = 0

    init(
        historyByteCount: Int = 10 << 20,
        keepAliveSeconds: UInt64 = 15,
        writeNanoseconds: UInt64 = 0,
        serving: FakeServing = FakeServing()
    ) {
        self.writeNanoseconds = writeNanoseconds
        self.serving = serving
        let clock = StoreClock { Timestamp(milliseconds: 0) }
        store = PropertyStore(
            limits: StoreLimits(),
            stripeCount: 4,
            guards: GuardSettings(.lock),
            clock: clock
        )
        let journal = Journal(HistoryLimits(byteCountMax: historyByteCount))
        self.journal = journal
        pump = WatchPump(
            journal: journal,
            keepAliveNanoseconds: keepAliveSeconds * 1_000_000_000,
            counters: counters,
            answers: answers,
            clock: clock,
            processorCount: FakeServing.processorCount,
            clocks: WatchClocks(
                nanoseconds: { [time] in time.read { $0 } },
                processorNanoseconds: { [time] in serving.processorNanoseconds(time.read { $0 }) }
            ),
            unsent: serving.unsent,
            retryMilliseconds: { [retries] in
                retries.write { retries in
                    retries += 1
                    return retries
                }
            },
            arm: { [armed] revision in armed.write { $0.append(revision) } }
        )
    }

    /// Nanoseconds.
    var now: UInt64 {
        get { time.read { $0 } }
        set { time.write { $0 = newValue } }
    }

    var last: Revision { commits.last?.revision ?? 0 }

    /// Makes a commit that increments or deletes each of these names.
    func commit(increment: [String] = [], delete: [String] = []) {
        commit(
            .transaction(
                Transaction(
                    increment.map { Change.Step(.named($0), .increment(by: 1)) }
                        + delete.map { Change.Step(.named($0), .delete) }
                )
            )
        )
    }

    /// Makes a commit that starts the time to live again, and increments these names.
    func touch(_ name: String, increment: [String] = []) {
        let touch = Change.Step(.named(name), .touch, ttl: 60_000)
        let steps = increment.map { Change.Step(.named($0), .increment(by: 1)) }
        commit(.transaction(Transaction(steps + [touch])))
    }

    func put(_ name: String, _ value: String) {
        let value = OwnedBytes(Array(value.utf8))
        withExtendedLifetime(value) {
            commit(unsafe .put(.named(name), value: value.bytes))
        }
    }

    func commit(_ change: Change) {
        let made = Synchronized<Commit?, LockStrategy>(nil)
        try? store.commit(change, .here()) { decision in made.write { $0 = try? decision.get() } }
        guard let commit = made.read({ $0 }), !commit.isEmpty else { return }
        commits.append(commit)
        journal.append(commit)
    }

    func snapshot() throws -> StoreSnapshot {
        let taken = Synchronized<StoreSnapshot?, LockStrategy>(nil)
        store.snapshot(.here()) { snapshot in taken.write { $0 = snapshot } }
        return try #require(taken.read { $0 })
    }

    /// Opens a watch, whose stream has room for this many bytes.
    func open(
        _ filter: WatchFilter,
        _ start: WatchRequest.Start,
        observer: String? = nil,
        capacity: Int = .max
    ) -> FakeStream {
        lastID += 1
        let stream = FakeStream(id: lastID, capacity: capacity, serving) {
            [time, writeNanoseconds] in
            time.write { time in
                time += writeNanoseconds
                return time
            }
        }
        let request = WatchRequest(
            filter: filter,
            start: start,
            observer: observer.map { Array($0.utf8) }
        )
        pump.open(lastID, request, stream, now)
        return stream
    }

    /// Opens a watch of all names.
    func open(
        _ start: WatchRequest.Start,
        observer: String? = nil,
        capacity: Int = .max
    ) -> FakeStream {
        open(.prefix([]), start, observer: observer, capacity: capacity)
    }

    /// Makes commits of one name, and lets the pump run after each.
    func increment(_ name: String, _ count: Int = 1) {
        for _ in 0..<count {
            commit(increment: [name])
            run()
        }
    }

    /// Lets the pump do all that it can do now, or as many nanoseconds later.
    func run(after nanoseconds: UInt64 = 0) {
        now += nanoseconds + WatchPace.roundNanoseconds
        while let next = pump.run(now), !pump.behind.isEmpty || pump.position < journal.last {
            pass(to: next)
        }
    }

    /// Lets the time pass up to this, or until a turn of the pump is sent.
    func pass(to end: UInt64) {
        now = serving.send(until: max(now, end))
    }

    /// Lets the client read everything, and the pump go on, until there is nothing more.
    func drain(_ stream: FakeStream) -> [UInt8] {
        var all: [UInt8] = []
        while true {
            run()
            let (bytes, wasFull) = stream.take()
            all += bytes
            if wasFull {
                pump.hasRoom(stream.id)
            } else if bytes.isEmpty {
                return all
            }
        }
    }

    /// The events that a watcher has to get from a place on.
    func expected(_ filter: WatchFilter, from place: WatchPlace) -> [EventStreamParser.Event] {
        commits.flatMap { commit -> [EventStreamParser.Event] in
            let matching = commit.effects.indices.filter { filter.matches(commit.effects[$0]) }
            return matching.compactMap { index in
                let before = WatchPlace(revision: commit.revision - 1, effectCount: index)
                guard before >= place else { return nil }
                let isLast = index == matching.last
                let id = isLast ? "\(commit.revision)" : "\(commit.revision).\(index + 1)"
                return event(commit.effects[index], commit.revision, id, filter.form)
            }
        }
    }

    private func event(
        _ effect: Commit.Effect,
        _ revision: Revision,
        _ id: String,
        _ form: EventForm
    ) -> EventStreamParser.Event {
        let isNew = effect.property.map { $0.created == revision } ?? false
        let former = form.showsPrevious && !isNew ? effect.former : nil
        let previous = former.map { former in
            unsafe #","previous":\#(String(decoding: former.valueBytes, as: UTF8.self))"#
        }
        let end = (previous ?? "") + "}"
        let name = unsafe String(decoding: effect.nameBytes, as: UTF8.self)
        let start = #"{"name":"\#(name)","revision":\#(revision),"#
        guard let property = effect.property else {
            return .init(type: "delete", data: start + #""reason":"deleted""# + end, id: id)
        }
        let value = unsafe String(decoding: property.valueBytes, as: UTF8.self)
        let shown = form.showsValue ? #","value":\#(value)"# : ""
        let data = start + #""created":\#(property.created)"# + shown + end
        return .init(type: "put", data: data, id: id)
    }
}

/// A stream whose client reads when the test says so.
final class FakeStream: WatchOutput {
    private struct State {
        var bytes: [UInt8] = []
        /// The pieces that are kept until the client has taken them.
        var pieces: [StreamPiece] = []
        var wasFull = false
        var isEnded = false
        var isRead = true
        var writeCount = 0
        /// When the kernel has the last bytes; nil once the pump waits for that.
        var finish: UInt64?
    }

    let id: UInt64
    private let capacity: Int
    private let state = Synchronized<State, LockStrategy>(State())

    private let serving: FakeServing
    /// Returns the time.
    private let onWrite: @Sendable () -> UInt64

    init(
        id: UInt64,
        capacity: Int,
        _ serving: FakeServing,
        onWrite: @escaping @Sendable () -> UInt64
    ) {
        self.id = id
        self.capacity = capacity
        self.serving = serving
        self.onWrite = onWrite
    }

    /// The client reads nothing more: the kernel takes no bytes.
    func stopReading() {
        state.write { $0.isRead = false }
    }

    var isEnded: Bool { state.read { $0.isEnded } }
    var writeCount: Int { state.read { $0.writeCount } }
    var unsentByteCount: Int { state.read { $0.bytes.count } }
    var text: String { String(decoding: state.read { $0.bytes }, as: UTF8.self) }

    func write(_ bytes: [UInt8]) -> ResponseStream.WriteResult {
        let now = onWrite()
        return state.write { state in
            state.writeCount += 1
            guard !state.isEnded else { return .gone }
            guard state.bytes.isEmpty || state.bytes.count + bytes.count <= capacity else {
                state.wasFull = true
                return .full
            }
            state.bytes += bytes
            state.finish = serving.take(bytes.count, now)
            return .accepted
        }
    }

    func awaitSent(_ mark: UInt32) -> Bool {
        state.write { state in
            defer { state.finish = nil }
            return state.finish.map { serving.await(state.isRead ? $0 : .max, mark) } ?? false
        }
    }

    func write(_ piece: StreamPiece) -> ResponseStream.WriteResult {
        let result = write(piece.bytes)
        if result == .accepted {
            state.write { $0.pieces.append(piece) }
        }
        return result
    }

    func end(with bytes: [UInt8]) {
        state.write { state in
            guard !state.isEnded else { return }
            state.bytes += bytes
            state.isEnded = true
        }
    }

    func end() {
        state.write { $0.isEnded = true }
    }

    /// The client takes everything; whether the stream was full before.
    func take() -> (bytes: [UInt8], wasFull: Bool) {
        state.write { state in
            defer {
                state.bytes = []
                state.pieces = []
                state.wasFull = false
            }
            return (state.bytes, state.wasFull)
        }
    }
}

extension PropertyName {
    static func named(_ text: String) -> PropertyName {
        let owner = OwnedBytes(Array(text.utf8))
        guard let name = try? unsafe PropertyName(borrowing: owner.bytes, owner: owner) else {
            preconditionFailure("the test's names are valid")
        }
        return name
    }
}

extension WatchFilter {
    /// Those that have all kinds of parts.
    static let mixed = WatchFilter([
        .prefix(Array("a/".utf8)), .name(Array("c".utf8)), .name(Array("a".utf8)),
        .prefix(Array("a/1".utf8)), .name(Array("a".utf8)),
    ])

    /// The same filter, with the values from before.
    var withPrevious: WatchFilter {
        var filter = self
        filter.form.showsPrevious = true
        return filter
    }

    /// Names that match a pattern, changes of these kinds, and no values.
    static func sparse(_ pattern: String, _ kinds: EffectKinds) -> WatchFilter {
        let pattern = NamePattern(Array(pattern.utf8))
        var filter = WatchFilter.prefix(pattern?.prefix ?? [])
        filter.pattern = pattern
        filter.kinds = kinds
        filter.form.showsValue = false
        return filter
    }

    static func named(_ text: String) -> WatchFilter { .name(Array(text.utf8)) }
    static func prefixed(_ text: String) -> WatchFilter { .prefix(Array(text.utf8)) }
}
