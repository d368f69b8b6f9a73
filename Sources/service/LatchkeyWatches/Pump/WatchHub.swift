internal import CLatchkeySystem
internal import Dispatch
internal import Foundation
package import LatchkeyFrame
package import LatchkeyHTTP
internal import LatchkeyMachine
internal import LatchkeySettings
package import LatchkeyStore
internal import LatchkeyStrategies
internal import Synchronization

/// All watches and long polls of the service: the messages for the pump, and its thread.
///
/// **Design.** The pump's thread alone uses the pump. All other threads add a message to the inbox
/// and return: serving threads, and those that call because a stream has room or is over, or
/// because the journal has a new commit. No thread waits for the pump, and the pump waits only for
/// its inbox. `inbox` is guarded by a lock that is held for the append of a message; the semaphore
/// is signalled once for each time that the inbox stops being empty.
///
/// The journal is asked for a call only while there are watchers, so that a commit in a store
/// without watchers costs nothing here.
package final class WatchHub: Sendable {
    private enum Message: Sendable {
        case open(UInt64, WatchRequest, any WatchOutput)
        case wait(UInt64, WatchWait)
        case giveUp(UInt64)
        case hasRoom(UInt64)
        case gone(UInt64)
        case sent
        case journalMoved
        case tokensChanged
        case list(after: UInt64, countMax: Int, @Sendable (WatchList) -> Void)
        case drain
        case stop
    }

    private static let stackByteCount = 512 * 1024

    private let limits: WatchLimits
    private let inbox = Synchronized<[Message], AdaptiveStrategy>([])
    private let arrivals = DispatchSemaphore(value: 0)
    /// The streams of rounds, and those of slices.
    private let unsent = (rounds: UnsentStreams(), slices: UnsentStreams())
    private let lastIdentifier = Atomic<UInt64>(0)
    /// For watches and long polls.
    private let places: SharedPlaces

    /// Starts the thread, which takes over the caller's signal mask.
    init(
        journal: Journal,
        limits: WatchLimits,
        places: SharedPlaces,
        counters: WatchCounters,
        answers: AnswerBudget
    ) {
        self.limits = limits
        self.places = places
        let thread = Thread { [self] in
            let pump = WatchPump(
                journal: journal,
                keepAliveNanoseconds: UInt64(limits.keepAlive.wholeNanoseconds),
                counters: counters,
                answers: answers,
                processorCount: Self.processorCount,
                clocks: WatchClocks(
                    nanoseconds: { latchkey_system_nanoseconds() },
                    processorNanoseconds: { latchkey_system_processor_nanoseconds() }
                ),
                unsent: unsent,
                arm: { [self] revision in
                    journal.whenReached(revision) { [self] in post(.journalMoved) }
                }
            )
            run(pump)
        }
        thread.name = "latchkey-watch"
        thread.stackSize = Self.stackByteCount
        thread.start()
    }

    convenience init(_ journal: Journal, _ limits: WatchLimits, in frame: ServiceFrame) {
        self.init(
            journal: journal,
            limits: limits,
            places: frame.places(limits.watcherCountMax, "watches"),
            counters: WatchCounters(frame.registry),
            answers: frame.answers
        )
        WatchMetrics.register(journal: journal, watches: self, in: frame.registry)
        frame.bounds.add("max-watchers", limits.watcherCountMax) { [self] in watcherCount }
        frame.closing.at(.streams) { [self] in drain() }
        frame.closing.at(.threads) { [self] in stop() }
    }

    /// The maximum wait of a request that reads, in milliseconds.
    package func readMillisecondsMax(_ request: ServiceRequest) -> TimeToLive {
        request.exchange.isOfProxy ? Int64(limits.readBehindProxy.wholeMilliseconds) : .max
    }

    /// Watches and long polls now.
    package var watcherCount: Int { places.count }

    /// Takes a place among the watchers, or throws the problem to answer with.
    package func enter(_ client: ClientKey) throws(RequestFailure) {
        try places.enter(
            client,
            orFail: .tooManyWatchers,
            "watches and long polls (--max-watchers)"
        )
    }

    /// Takes a place among the watchers for a wait, which is given up when its client goes.
    ///
    /// - Parameters:
    ///   - request: The request that waits.
    ///   - id: The wait's identifier, from ``nextIdentifier()``.
    ///   - presence: Ends when the client goes, also before the wait was added.
    /// - Throws: The problem to answer with.
    package func enter(
        _ request: ServiceRequest,
        _ id: UInt64,
        _ presence: Presence
    ) throws(RequestFailure) {
        try enter(request.client)
        request.exchange.whenGone { [self] in
            presence.end()
            giveUp(id)
        }
    }

    /// Gives a place among the watchers back.
    ///
    /// A watch that was opened gives it back by itself.
    package func leave(_ client: ClientKey) {
        places.leave(client)
    }

    /// Starts a watch on the stream of an answer; its place was taken by ``enter(_:)``.
    ///
    /// - Parameters:
    ///   - request: The watch that is asked for.
    ///   - client: The client that watches.
    ///   - respond: Answers with a stream of these events, of at most so many buffered bytes.
    func open(
        _ request: WatchRequest,
        of client: ClientKey,
        respond: (ResponseStream.Events, Int) -> ResponseStream
    ) {
        let id = nextIdentifier()
        let events = ResponseStream.Events(
            hasRoom: { [self] _ in post(.hasRoom(id)) },
            sent: { [self] mark in sent(mark) },
            // The pump ends all streams, each after its last event.
            draining: { _ in },
            gone: { [self] _, _ in
                leave(client)
                post(.gone(id))
            }
        )
        post(.open(id, request, respond(events, limits.bufferBytesMax)))
    }

    /// Waits for a change of a name; the wait's place was taken by ``enter(_:)``.
    ///
    /// - Parameters:
    ///   - wait: The wait.
    ///   - id: Its identifier, from ``nextIdentifier()``; it may be that of a wait that is over.
    package func add(_ wait: WatchWait, _ id: UInt64) {
        post(.wait(id, wait))
    }

    /// Ends a wait that was added, if it is not over.
    package func giveUp(_ id: UInt64) {
        post(.giveUp(id))
    }

    /// Ends the watches and waits of clients that may not read their properties any more.
    package func tokensChanged() {
        post(.tokensChanged)
    }

    /// Lists the watches and long polls after an identifier, at most so many.
    ///
    /// Calls `answer` on the pump's thread: it must not block.
    func list(after id: UInt64, countMax: Int, _ answer: @escaping @Sendable (WatchList) -> Void) {
        post(.list(after: id, countMax: countMax, answer))
    }

    /// Ends all watches after the events that there are, and all waits, also later ones.
    func drain() {
        post(.drain)
    }

    /// Ends the thread.
    func stop() {
        post(.stop)
    }

    /// An identifier for a wait.
    package func nextIdentifier() -> UInt64 {
        lastIdentifier.wrappingAdd(1, ordering: .relaxed).newValue
    }

    private func post(_ message: Message) {
        let isFirst = inbox.write { inbox in
            inbox.append(message)
            return inbox.count == 1
        }
        if isFirst {
            arrivals.signal()
        }
    }

    private func sent(_ mark: UInt32) {
        let streams = mark == WatchTurns.Kind.round.rawValue ? unsent.rounds : unsent.slices
        if streams.sent() {
            post(.sent)
        }
    }

    /// The processors that the process can use, by its affinity and the quota of its control
    /// groups.
    private static var processorCount: Int {
        let count = ProcessInfo.processInfo.activeProcessorCount
        return ControlGroup().processorQuota.map { max(1, min(count, Int($0.rounded(.up)))) }
            ?? count
    }

    private func run(_ pump: WatchPump) {
        var next: UInt64?
        while true {
            var timeout = DispatchTime.distantFuture
            if let next {
                let now = latchkey_system_nanoseconds()
                timeout = .now() + .nanoseconds(next > now ? Int(next - now) : 0)
            }
            _ = arrivals.wait(timeout: timeout)
            let messages = inbox.write { inbox in
                let messages = inbox
                inbox = []
                return messages
            }
            let now = latchkey_system_nanoseconds()
            for message in messages {
                guard handle(message, pump, now) else { return }
            }
            next = pump.run(now)
        }
    }

    /// - Returns: false for the last message.
    private func handle(_ message: Message, _ pump: WatchPump, _ now: UInt64) -> Bool {
        switch message {
        case .open(let id, let request, let output): pump.open(id, request, output, now)
        case .wait(let id, let wait): pump.wait(id, wait)
        case .giveUp(let id): pump.end(wait: id, .gone)
        case .hasRoom(let id): pump.hasRoom(id)
        case .gone(let id): pump.gone(id)
        // The pump sees it when it runs.
        case .sent: break
        case .journalMoved: pump.journalMoved()
        case .tokensChanged: pump.tokensChanged()
        case .list(let id, let count, let answer): answer(pump.list(after: id, countMax: count))
        case .drain: pump.drain(now)
        case .stop: return false
        }
        return true
    }
}
