internal import CLatchkeySystem
public import LatchkeyContention
public import LatchkeySync
internal import Synchronization

/// One access, from its first ask until it has left, with the data for its meter and its times.
///
/// **Design.** The meter stands around the choice of a guard, not on each guard: an access that
/// begins again at another guard is one acquisition, of the guard that it enters in the end, and
/// its wait counts from its first ask. The clock is read only where the caller wants the times,
/// while a switch is under way, and where the access is blocked.
///
/// SAFETY: `@safe` because the owner of an access keeps its ask, and its stripe, which keeps the
/// guards. Counted references would make all accesses write to one cache line.
@safe
@usableFromInline package struct Access {
    @usableFromInline let request: AccessRequest
    @usableFromInline let timing: Unmanaged<AccessTiming>?
    /// The guard that is asked, or entered.
    @usableFromInline var reference: Unmanaged<Guard>?
    @usableFromInline var entry: ContentionProbe.MeteredEntry?
    @usableFromInline var hasBegunAgain = false
    /// When it first asked; 0 if that is not wanted.
    @usableFromInline var start: UInt64 = 0
    @usableFromInline var entered: UInt64 = 0

    @inlinable init(_ mode: AccessMode, _ ask: Ask, isSubmitted: Bool = false) {
        request = AccessRequest(mode, at: ask.site, isSubmitted: isSubmitted)
        unsafe timing = ask.timing.map { unsafe .passUnretained($0) }
    }

    var mode: AccessMode { request.mode }

    /// The guard that is asked, or entered.
    var section: Guard? { unsafe reference?.takeUnretainedValue() }

    /// Has been counted as an asker of a guard.
    mutating func chooses(_ section: Guard) { unsafe reference = .passUnretained(section) }

    /// Ends its count as an asker: it was accepted, or will not ask.
    func isAccepted() { _ = section?.askers.subtract(1, ordering: .sequentiallyConsistent) }

    /// Asks a guard, which follows one that it was withdrawn from, if there was one.
    mutating func asks(_ section: Guard, isTimed: Bool) {
        unsafe asks(Unmanaged.passUnretained(section), isTimed: isTimed)
    }

    /// The same without counting references.
    @unsafe @inline(__always) mutating func asks(_ section: Unmanaged<Guard>, isTimed: Bool) {
        unsafe reference = section
        if unsafe section._withUnsafeGuaranteedRef({ $0.probe != nil }) || isTimed || timing != nil
        {
            asks(isTimed: isTimed)
        }
    }

    /// Asks the guard that was chosen.
    mutating func asks(isTimed: Bool = false) {
        let (request, earlier) = (request, hasBegunAgain ? entry : nil)
        let asked = withSection { section in
            section.withProbe { probe in
                earlier.map { probe.asksAgain(request, after: $0) } ?? probe.asks(request)
            }
        }
        if let asked { entry = asked }
        if unsafe isTimed || timing != nil, start == 0 { start = latchkey_system_nanoseconds() }
    }

    /// Notes that the guard does not let it in at once.
    mutating func isBlocked() {
        if start == 0 { start = latchkey_system_nanoseconds() }
        guard var entry else { return }
        withSection { $0.probe?.isBlocked(&entry) }
        self.entry = entry
    }

    /// Notes that it is inside, as the first thing there.
    @inline(__always) mutating func enters() {
        if unsafe entry != nil || timing != nil { entersMeasured() }
    }

    /// Notes that it leaves, as the last thing inside.
    @inline(__always) func leaves() {
        if unsafe entry != nil || timing != nil { leavesMeasured() }
    }

    /// Calls `body` with the guard that was entered.
    @inline(__always) func withSection<Result>(_ body: (Guard) -> Result) -> Result {
        guard let reference = unsafe reference else {
            preconditionFailure("An access asks before it enters.")
        }
        return unsafe reference._withUnsafeGuaranteedRef(body)
    }

    @inline(never) private func leavesMeasured() {
        if let entry { withSection { $0.probe?.leaves(entry) } }
        unsafe timing?.takeUnretainedValue().held(latchkey_system_nanoseconds() &- entered)
    }

    /// Withdraws it from a guard that does not serve any more, or that is not the one to hold.
    mutating func beginsAgain() {
        if let entry { section?.probe?.beginsAgain(entry) }
        hasBegunAgain = true
        if start == 0 { start = latchkey_system_nanoseconds() }
    }

    var isTimed: Bool { start != 0 }

    /// How long it took until now; nil if it was neither timed nor blocked.
    var age: UInt64? { start == 0 ? nil : latchkey_system_nanoseconds() &- start }

    @inline(never) private mutating func entersMeasured() {
        if var entry {
            withSection { $0.probe?.enters(&entry) }
            self.entry = entry
        }
        guard let timing = unsafe timing else { return }
        entered = latchkey_system_nanoseconds()
        unsafe timing.takeUnretainedValue().waited(entered &- start)
    }
}
