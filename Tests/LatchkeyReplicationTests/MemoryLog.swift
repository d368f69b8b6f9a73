import Dispatch
import LatchkeyReplication
import LatchkeySync
import LatchkeyTestSupport

/// A log in memory, whose members can fail as those of a real one.
final class MemoryLog: Sendable {
    /// The fate of an append.
    enum Fate: CaseIterable {
        case appended
        /// The entry is not in the log, and the answer is lost, too.
        case lost
        /// The entry is in the log, but the answer is lost.
        case unanswered
        /// The answer is lost, and the entry comes into the log later.
        case late
    }

    private struct Follower: Sendable {
        var next: Int
        let queue: DispatchQueue
        let receive: @Sendable (LogEvent) -> Void
    }

    private struct State: Sendable {
        var entries: [[UInt8]] = []
        var late: [[UInt8]] = []
        var appendCount = 0
        var followers: [Int: Follower] = [:]
        var random: SeededGenerator
        var isFull = false
        /// Whether an entry comes in although the answer is that the log is full.
        var isFilling = false
        /// Longer entries are refused as too large.
        var byteCountMax = Int.max
        /// Whether entries come later, whose answers are lost.
        var isLate = false
        /// Whether late entries come before the next entry, and not after it.
        var isLateFirst = false
        /// How often each member was told to use another server.
        var moveCounts: [Int: Int] = [:]
        /// Whether entries come into the log only at ``MemoryLog/settle()``.
        var isSlow = false
        /// Whether nothing is delivered.
        var isHeld = false
        var isCut: Set<Int> = []
    }

    private let state: Guarded<State>
    private let faultPercent: Int
    /// How often members were told the outcome of an append.
    let appends = Arrivals()
    /// How often each member has asked where the log ends, and was told.
    private let questions = (0..<3).map { _ in Arrivals() }
    let ends = (0..<3).map { _ in Arrivals() }

    init(seed: UInt64, faultPercent: Int = 0) {
        state = Guarded(State(random: SeededGenerator(seed)))
        self.faultPercent = faultPercent
    }

    var entries: [[UInt8]] { state.read { $0.entries } }

    /// How often members have appended, successfully or not.
    var appendCount: Int { state.read { $0.appendCount } }

    func setFull(_ isFull: Bool) { state.write { $0.isFull = isFull } }

    /// The entries that come make the log full: they are in it, but are answered as refused.
    func setFilling() { state.write { $0.isFilling = true } }

    /// How often a member was told to use another server.
    func moveCount(_ member: Int) -> Int { state.read { $0.moveCounts[member] ?? 0 } }

    /// Refuses longer entries as too large.
    func setByteCountMax(_ byteCount: Int) { state.write { $0.byteCountMax = byteCount } }

    /// Delays the following entries, or delivers them at once again; late entries come before the
    /// next one, or wait for ``settle()``.
    func setLate(_ isLate: Bool, first isFirst: Bool = false) {
        state.write { ($0.isLate, $0.isLateFirst) = (isLate, isFirst) }
    }

    /// Delivers nothing, or all again.
    func hold(_ isHeld: Bool) {
        state.write { $0.isHeld = isHeld }
        deliver()
    }

    /// Entries take longer from now on: they come into the log at ``settle()``.
    func setSlow() { state.write { $0.isSlow = true } }

    /// Separates a member from the log, or joins it again.
    func cut(_ member: Int, _ isCut: Bool) {
        state.write { state in
            if isCut { state.isCut.insert(member) } else { state.isCut.remove(member) }
        }
        deliver()
    }

    /// The entries that were late come into the log.
    func settle() {
        state.write { state in
            state.entries += state.late
            state.late = []
        }
        deliver()
    }

    /// Waits until a member has taken the delivered entries.
    func awaitDelivered(to member: Int) {
        state.read { $0.followers[member]?.queue }?.sync {}
    }

    /// Waits until a member was told where the log ends, as often as it has asked.
    func awaitEnds(of member: Int) {
        while ends[member].value < questions[member].value {
            ends[member].wait(for: questions[member].value)
        }
    }

    /// Adds an entry that no member has sent.
    func insert(_ entry: [UInt8]) {
        state.write { $0.entries.append(entry) }
        deliver()
    }

    /// Puts an entry before all others, none of which was delivered.
    func insertFirst(_ entry: [UInt8]) {
        state.write { $0.entries.insert(entry, at: 0) }
    }

    /// Goes back to an earlier backup, which lacks the last entry; no member is told.
    func loseLast() { state.write { _ = $0.entries.removeLast() } }

    struct Member: ReplicatedLog {
        let log: MemoryLog
        let number: Int

        func append(_ entry: [UInt8], completion: @escaping @Sendable (LogAppend) -> Void) {
            log.append(entry, of: number, completion)
        }

        func follow(after place: LogPlace, receive: @escaping @Sendable (LogEvent) -> Void) {
            log.follow(number, after: place, receive)
        }

        func end(completion: @escaping @Sendable (LogPlace?) -> Void) {
            log.questions[number].arrive()
            let end = log.state.read { state in
                state.isCut.contains(number) ? nil : LogPlace(UInt64(state.entries.count))
            }
            DispatchQueue.global().async {
                completion(end)
                log.ends[number].arrive()
            }
        }

        func moveOn() { log.state.write { $0.moveCounts[number, default: 0] += 1 } }
    }

    func member(_ number: Int) -> Member { Member(log: self, number: number) }

    private func append(
        _ entry: [UInt8],
        of member: Int,
        _ completion: @escaping @Sendable (LogAppend) -> Void
    ) {
        let answer = state.write { state -> LogAppend? in
            state.appendCount += 1
            if state.isFull { return .full("full") }
            if entry.count > state.byteCountMax { return .tooLarge("too large") }
            if state.isFilling {
                state.entries.append(entry)
                return .full("full")
            }
            var fate = Fate.appended
            if Int.random(in: 0..<100, using: &state.random) < faultPercent {
                fate = Fate.allCases.randomElement(using: &state.random) ?? .appended
            }
            if state.isLate { fate = .late }
            if state.isCut.contains(member) { fate = .lost }
            if state.isSlow {
                if fate != .lost { state.late.append(entry) }
                return nil
            }
            // Late entries come at some time, also after others.
            if !state.late.isEmpty,
                state.isLateFirst || faultPercent > 0 && Bool.random(using: &state.random)
            {
                state.entries.append(state.late.removeFirst())
            }
            switch fate {
            case .appended, .unanswered: state.entries.append(entry)
            case .late: state.late.append(entry)
            case .lost: break
            }
            return fate == .appended ? .appended : .unknown("planted")
        }
        DispatchQueue.global().async { [appends] in
            if let answer { completion(answer) }
            appends.arrive()
        }
        deliver()
    }

    private func follow(
        _ member: Int,
        after place: LogPlace,
        _ receive: @escaping @Sendable (LogEvent) -> Void
    ) {
        let queue = DispatchQueue(label: "log \(member)")
        let end = state.write { state in
            state.followers[member] = Follower(
                next: Int(place.number),
                queue: queue,
                receive: receive
            )
            return state.entries.count
        }
        guard place.number <= UInt64(end) else {
            return queue.async { receive(.wentBack(end: LogPlace(UInt64(end)))) }
        }
        if place != .start {
            let last = entries[Int(place.number) - 1]
            queue.async { receive(.last(place, last)) }
        }
        queue.async { receive(.connected) }
        deliver()
    }

    private func deliver() {
        state.write { state in
            guard !state.isHeld else { return }
            for (member, follower) in state.followers where !state.isCut.contains(member) {
                for index in follower.next..<max(follower.next, state.entries.count) {
                    let (entry, place) = (state.entries[index], LogPlace(UInt64(index + 1)))
                    follower.queue.async { follower.receive(.entry(place, entry)) }
                }
                state.followers[member]?.next = max(follower.next, state.entries.count)
            }
        }
    }
}
