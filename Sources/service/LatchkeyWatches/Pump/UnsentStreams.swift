internal import Synchronization

/// How many streams a turn of the pump has woken that have not sent everything.
///
/// **Design.** The pump counts up, and the threads that serve count down. The pump counts as one
/// itself while it writes. The streams left from earlier turns, whose clients do not read, are
/// below the floor. All is relaxed: the streams' locks order what matters, and a count that is seen
/// late only makes a rest longer or shorter.
final class UnsentStreams: Sendable {
    typealias Pair = (rounds: UnsentStreams, slices: UnsentStreams)

    private let left = Atomic<Int>(0)
    private let floor = Atomic<Int>(0)

    var count: Int { left.load(ordering: .relaxed) }

    /// Whether all of this turn are sent.
    var areSent: Bool { count <= floor.load(ordering: .relaxed) }

    /// A turn begins.
    func begin() {
        floor.store(count, ordering: .relaxed)
        add()
    }

    /// A stream was woken.
    func add() {
        left.wrappingAdd(1, ordering: .relaxed)
    }

    /// A stream has sent everything.
    ///
    /// - Returns: Whether it was the last one.
    func sent() -> Bool {
        left.wrappingSubtract(1, ordering: .relaxed).newValue == floor.load(ordering: .relaxed)
    }
}
