internal import CLatchkeySystem
internal import LatchkeyContention
public import LatchkeySync
internal import Synchronization

/// One access, from its first ask until it has left: what its meter and its times need.
///
/// **Design.** The meter stands around the choice of a guard, not on each guard: an access that
/// begins again at another guard is one acquisition, of the guard that it enters in the end, and
/// its wait counts from its first ask. The clock is read only where somebody wants the times, while
/// a switch is under way, and where the access is blocked.
@usableFromInline package struct Access {
    let request: AccessRequest
    private let timing: AccessTiming?
    /// The guard that is asked, or entered.
    private(set) var section: Guard?
    private var entry: ContentionProbe.MeteredEntry?
    private var hasBegunAgain = false
    /// When it first asked; 0 if that is not wanted.
    private var start: UInt64 = 0
    private var entered: UInt64 = 0

    @usableFromInline init(_ mode: AccessMode, _ ask: Ask, isSubmitted: Bool = false) {
        request = AccessRequest(mode, at: ask.site, isSubmitted: isSubmitted)
        timing = ask.timing
    }

    var mode: AccessMode { request.mode }

    /// Has been counted as an asker of a guard.
    mutating func chooses(_ section: Guard) { self.section = section }

    /// Is an asker no longer: it was accepted, or will not ask.
    func isAccepted() { _ = section?.askers.subtract(1, ordering: .sequentiallyConsistent) }

    /// Asks a guard, which follows one that it was withdrawn from, if there was one.
    mutating func asks(_ section: Guard, isTimed: Bool) {
        self.section = section
        asks(isTimed: isTimed)
    }

    /// Asks the guard that was chosen.
    mutating func asks(isTimed: Bool = false) {
        if let probe = section?.probe {
            if hasBegunAgain, let entry {
                self.entry = probe.asksAgain(request, after: entry)
            } else {
                entry = probe.asks(request)
            }
        }
        if isTimed || timing != nil, start == 0 { start = latchkey_system_nanoseconds() }
    }

    /// Notes that the guard does not let it in at once.
    mutating func isBlocked() {
        if start == 0 { start = latchkey_system_nanoseconds() }
        guard var entry else { return }
        section?.probe?.isBlocked(&entry)
        self.entry = entry
    }

    /// Notes that it is inside, as the first thing there.
    mutating func enters() {
        if var entry {
            section?.probe?.enters(&entry)
            self.entry = entry
        }
        if start != 0 { entersTimed() }
    }

    /// Notes that it leaves, as the last thing inside.
    func leaves() {
        if let entry { section?.probe?.leaves(entry) }
        if let timing { timing.held(latchkey_system_nanoseconds() &- entered) }
    }

    /// Withdraws it from a guard that does not count any more, or that is not the one to hold.
    mutating func beginsAgain() {
        if let entry { section?.probe?.beginsAgain(entry) }
        hasBegunAgain = true
        if start == 0 { start = latchkey_system_nanoseconds() }
    }

    /// How long it took until now; nil if it was neither timed nor blocked.
    var age: UInt64? { start == 0 ? nil : latchkey_system_nanoseconds() &- start }

    private mutating func entersTimed() {
        entered = latchkey_system_nanoseconds()
        timing?.waited(entered &- start)
    }
}
