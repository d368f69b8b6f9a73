internal import LatchkeyContention
internal import LatchkeyStrategies
public import LatchkeySync
internal import Synchronization

/// The guards of one stripe, of which one serves, and the way in through it.
///
/// **Design.** `index` says which guard new accesses ask; `serving` says which one serves. An
/// access loads `index`, enters that guard, and looks at `serving` inside: if that is another one,
/// it leaves and begins again, in a loop. The two differ only while a guard that applies writes
/// later is being left. ``StripeGuard/change(to:_:)`` has the protocol of a switch.
///
/// A guard is made before the first switch to it, and kept: a thread that has loaded an old index
/// finds it.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because a place of `guards` is written once, before an
/// index leads to it or `made` names it (releasing, and acquiring for the load of either), and
/// freed with the object.
@safe
@usableFromInline package final class StripeGuard: @unchecked Sendable {
    /// The number of a guard, and the bits that an access needs of it.
    typealias Word = UInt16

    /// The number in a word.
    static let number: Word = 0xFF
    /// Set in `index` while a switch is under way: accesses are timed.
    static let isWatched: Word = 1 << 8

    let index = Atomic<Word>(0)
    let serving: Atomic<UInt8>
    private let guards: UnsafeMutablePointer<Unmanaged<Guard>?>
    /// A bit for each guard that was made.
    private let made = Atomic<UInt32>(0)
    private let stripe: Int
    let shared: SharedGuards

    init(_ stripe: Int, _ shared: SharedGuards) {
        let number = shared.number.load(ordering: .relaxed)
        (self.stripe, self.shared) = (stripe, shared)
        serving = Atomic(number)
        let count = StrategyKind.allCases.count
        unsafe guards = .allocate(capacity: count)
        unsafe guards.initialize(repeating: nil, count: count)
        make(number)
        index.store(word(number), ordering: .releasing)
    }

    deinit {
        for number in StrategyKind.allCases.indices { unsafe guards[number]?.release() }
        unsafe guards.deallocate()
    }

    /// Makes a guard, unless there is one.
    ///
    /// Called by one thread at a time, before an index leads to the guard.
    func make(_ number: UInt8) {
        let one: UInt32 = 1 << number
        guard made.load(ordering: .relaxed) & one == 0 else { return }
        let kind = StrategyKind.allCases[Int(number)]
        let probe = shared.meter(kind).map {
            ContentionProbe($0, traits: kind.traits, stripe: $0.addStripe())
        }
        let maker = GuardMaker(kind: kind, probe: probe, backlogMax: shared.settings.backlogMax)
        unsafe guards[Int(number)] = .passRetained(kind.accept(maker))
        // Releasing: pairs with the load by a thread that counts the backlogs meanwhile.
        made.bitwiseOr(one, ordering: .releasing)
    }

    subscript(word: Word) -> Guard { unsafe unmanaged(word).takeUnretainedValue() }

    @inline(__always) private func unmanaged(_ word: Word) -> Unmanaged<Guard> {
        guard let section = unsafe guards[Int(word & Self.number)] else {
            preconditionFailure("An index leads to a guard that was made.")
        }
        return unsafe section
    }

    subscript(number: UInt8) -> Guard { self[Word(number)] }

    /// The value of `index` when it leads to a guard.
    func word(_ number: UInt8) -> Word {
        let section = self[number]
        let start = Word(number) | (section.snapshot == nil ? 0 : Self.copies)
        return [AccessMode.read, .write].reduce(start) { word, mode in
            word | (section.isCalled(mode) ? Self.isCalled(mode) : 0)
                | (section.appliesLater(mode) ? Self.appliesLater(mode) : 0)
        }
    }

    private static let copies: Word = 1 << 13

    private static func isCalled(_ mode: AccessMode) -> Word { mode == .read ? 1 << 9 : 1 << 10 }

    private static func appliesLater(_ mode: AccessMode) -> Word {
        mode == .read ? 1 << 11 : 1 << 12
    }

    /// The guard that new accesses ask.
    var current: Guard { self[index.load(ordering: .acquiring)] }

    /// The writes that were accepted and are not yet applied.
    var backlogCount: Int {
        var (left, count) = (made.load(ordering: .acquiring), 0)
        while left != 0 {
            count += self[Word(left.trailingZeroBitCount)].queue?.backlogCount ?? 0
            left &= left - 1
        }
        return count
    }

    /// Whether the guard is the one that serves.
    ///
    /// Asked inside. Acquiring: pairs with the stores of a switch.
    func serves(_ word: Word) -> Bool {
        Word(serving.load(ordering: .acquiring)) == word & Self.number
    }

    @usableFromInline func appliesLater(_ mode: AccessMode) -> Bool {
        index.load(ordering: .acquiring) & Self.appliesLater(mode) != 0
    }
}

// MARK: in place

extension StripeGuard {
    /// Enters, if the guard is entered by a call; false if ``run(_:_:)`` must be asked, with the
    /// same access.
    @usableFromInline func enter(_ access: inout Access) -> Entrance {
        while true {
            let word = index.load(ordering: .acquiring)
            guard word & Self.isCalled(access.mode) != 0 else { return .isRun }
            unsafe access.asks(unmanaged(word), isTimed: word & Self.isWatched != 0)
            shared.step?(.loaded)
            let mode = access.mode
            if !access.withSection({ $0.tryEnter(mode) }) {
                access.isBlocked()
                access.withSection { $0.enter(mode) }
            }
            if serves(word) {
                access.enters()
                return word & Self.copies == 0 ? .inPlace : .copied
            }
            access.withSection { $0.leave(mode) }
            access.beginsAgain()
        }
    }

    /// Leaves the guard that ``enter(_:)`` has entered.
    @usableFromInline func leave(_ access: Access) {
        access.leaves()
        access.withSection { $0.leave(access.mode) }
        if access.isTimed { shared.note(access) }
    }

    /// Where the value is, after ``enter(_:)``.
    @usableFromInline func place(_ access: Access) -> ValuePlace {
        access.withSection(\.snapshot).map(ValuePlace.copied) ?? .inPlace
    }

    /// Enters to read a version, if the guard has one; nil if ``run(_:_:)`` must be asked, with the
    /// same access.
    @usableFromInline func beginReading(_ access: inout Access) -> VersionReading? {
        let word = index.load(ordering: .acquiring)
        guard word & Self.copies != 0, access.mode == .read else { return nil }
        unsafe access.asks(unmanaged(word), isTimed: word & Self.isWatched != 0)
        shared.step?(.loaded)
        let found = access.withSection { section -> VersionReading? in
            let section = unsafe unsafeDowncast(section, to: SnapshotGuard.self)
            let reading = section.strategy.enterReaders()
            if let version = section.strategy.version {
                return VersionReading(version: version, reading: reading)
            }
            section.strategy.leaveReaders(reading)
            return nil
        }
        if found != nil { access.enters() } else { access.beginsAgain() }
        return found
    }

    /// Leaves the guard that ``beginReading(_:)`` has entered.
    @usableFromInline func endReading(_ found: VersionReading, _ access: Access) {
        access.leaves()
        access.withSection { section in
            let section = unsafe unsafeDowncast(section, to: SnapshotGuard.self)
            section.strategy.leaveReaders(found.reading)
        }
        if access.isTimed { shared.note(access) }
    }

    /// Enters until ``leaveHeld(_:)``, where no queue applies writes later; false if there is one.
    @usableFromInline func hold(_ access: inout Access) -> Bool {
        while true {
            let word = index.load(ordering: .acquiring)
            guard word & Self.appliesLater(.write) == 0 else { return false }
            unsafe access.asks(unmanaged(word), isTimed: word & Self.isWatched != 0)
            shared.step?(.loaded)
            let mode = access.mode
            if !access.withSection({ $0.tryHold(mode) }) {
                access.isBlocked()
                access.withSection { $0.hold(mode) }
            }
            if serves(word) {
                access.enters()
                return true
            }
            access.withSection { $0.release(mode) }
            access.beginsAgain()
        }
    }

    /// Leaves the guard that ``hold(_:)`` has entered.
    @usableFromInline func leaveHeld(_ access: Access) {
        access.leaves()
        access.withSection { $0.release(access.mode) }
        if access.isTimed { shared.note(access) }
    }

    /// Runs `body` inside, under any guard that blocks.
    @usableFromInline func run(_ access: inout Access, _ body: (ValuePlace) -> Void) {
        while true {
            if enter(&access) != .isRun {
                body(place(access))
                return leave(access)
            }
            let word = index.load(ordering: .acquiring)
            let section = self[word]
            // It can have changed since.
            if section.isCalled(access.mode) { continue }
            if !section.traits.blocksCaller {
                if runHeld(&access, body) { return }
                continue
            }
            access.asks(section, isTimed: word & Self.isWatched != 0)
            shared.step?(.loaded)
            if runInside(section, word, &access, body) { return shared.note(access) }
            access.beginsAgain()
            waitForSwitch(section)
        }
    }

    /// Runs `body` while the calling thread holds a guard that blocks no caller, for an access that
    /// found another guard when it chose this way in; false if the guard has changed again.
    private func runHeld(_ access: inout Access, _ body: (ValuePlace) -> Void) -> Bool {
        let found = counts { !$0.traits.blocksCaller }
        guard let section = found, let queue = section.queue else { return false }
        queue.admitBeyondBound(access.mode)
        access.asks(section, isTimed: true)
        if !queue.joins(access.mode) { access.isBlocked() }
        Self.hold(queue)
        access.isAccepted()
        access.enters()
        body(.inPlace)
        access.leaves()
        queue.release()
        queue.dismiss(access.mode)
        shared.note(access)
        return true
    }

    /// False if the guard does not serve any more; then `body` did not run.
    private func runInside(
        _ section: Guard,
        _ word: Word,
        _ access: inout Access,
        _ body: (ValuePlace) -> Void
    ) -> Bool {
        var hasRun = false
        // Both closures change the access, one after the other.
        unsafe withUnsafeMutablePointer(to: &access) { access in
            unsafe section.run(access.pointee.mode) {
                unsafe access.pointee.isBlocked()
            } _: {
                guard let place = place(section, word) else { return }
                unsafe access.pointee.enters()
                body(place)
                unsafe access.pointee.leaves()
                hasRun = true
            }
        }
        return hasRun
    }

    /// Where the value is, for a body inside a guard that runs bodies; nil if the guard does not
    /// serve.
    ///
    /// A reader of `snapshot` excludes no switch. So it looks at the published version, once.
    private func place(_ section: Guard, _ word: Word) -> ValuePlace? {
        guard let snapshot = section.snapshot else { return serves(word) ? .inPlace : nil }
        return snapshot.version.map(ValuePlace.published)
    }

    /// Waits while a guard is about to serve whose readers do not wait for its holder.
    private func waitForSwitch(_ section: Guard) {
        if section.isCalled(.write), !section.isCalled(.read) {
            section.enter(.write)
            section.leave(.write)
        }
    }
}

/// A stay in `snapshot`, and the version that was found there.
@usableFromInline struct VersionReading {
    @usableFromInline let version: PublishedVersion
    let reading: Reading
}

/// How an access has entered by a call.
@usableFromInline enum Entrance {
    case inPlace
    /// To write a copy.
    case copied
    /// Not at all: the guard runs a body.
    case isRun
}

/// Where the value of a stripe is, for the thread inside.
@usableFromInline package enum ValuePlace {
    /// Where it was made.
    case inPlace
    /// A version of it, for a reader.
    case published(PublishedVersion)
    /// A copy, which a writer publishes; readers that keep writers out find the last version.
    case copied(SnapshotStrategy)
}
