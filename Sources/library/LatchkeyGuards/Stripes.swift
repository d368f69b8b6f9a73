internal import CLatchkeySystem
internal import LatchkeyStrategies
public import LatchkeySync
internal import Synchronization

/// Values of one kind, each with a guard that is chosen by name, and can be switched.
///
/// **Design.** There are two ways in. Where a guard applies accesses before the call returns, they
/// go in by ``read`` and ``write``, whose closures stay on the stack. Where it applies them later
/// (``appliesLater(_:_:)``), they are submitted. The other way in works, too: the guard can be
/// switched between the question and the access.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because only a thread inside its guard uses a value.
@safe
@usableFromInline package final class Stripes<Value: Sendable>: @unchecked Sendable {
    @usableFromInline let guards: [StripeGuard]
    @usableFromInline let values: [GuardedValue<Value>]
    /// The same, for callers that must not count references: they are as old as this object.
    @usableFromInline let places: UnsafeMutablePointer<Place>
    private let shared: SharedGuards

    /// - Parameters:
    ///   - count: A power of two, at most ``StripeCount/max``.
    ///   - settings: The settings of the guards.
    ///   - value: Makes the first value of each stripe.
    package convenience init(
        count: Int,
        _ settings: GuardSettings,
        value: (_ stripe: Int) -> Value
    ) {
        self.init(count: count, settings, step: nil, value: value)
    }

    init(
        count: Int,
        _ settings: GuardSettings,
        step: (@Sendable (SharedGuards.Step) -> Void)?,
        value: (_ stripe: Int) -> Value
    ) {
        precondition(
            StripeCount.isValid(count),
            "The number of stripes is a power of two from 1 to \(StripeCount.max)."
        )
        let shared = SharedGuards(settings, step: step)
        self.shared = shared
        values = (0..<count).map { GuardedValue(value($0)) }
        guards = (0..<count).map { StripeGuard($0, shared) }
        unsafe places = .allocate(capacity: count)
        for (index, (section, value)) in zip(guards, values).enumerated() {
            section.current.snapshot?.begin(value)
            unsafe (places + index).initialize(
                to: Place(section: .passUnretained(section), value: .passUnretained(value))
            )
        }
    }

    deinit { unsafe places.deallocate() }

    /// A stripe.
    ///
    /// SAFETY: `@safe` because it is used while the object lives that has it.
    @safe
    @usableFromInline struct Place {
        @usableFromInline let section: Unmanaged<StripeGuard>
        @usableFromInline let value: Unmanaged<GuardedValue<Value>>
    }

    /// Calls `body` with a stripe, whose references are not counted.
    @inlinable @inline(__always)
    func with<Result>(
        _ stripe: Int,
        _ body: (StripeGuard, GuardedValue<Value>) -> Result
    ) -> Result {
        precondition(stripe >= 0 && stripe < count, "A stripe has a number below their count.")
        let place = unsafe places[stripe]
        return unsafe place.section._withUnsafeGuaranteedRef { section in
            unsafe place.value._withUnsafeGuaranteedRef { body(section, $0) }
        }
    }

    /// The number of stripes.
    @inlinable package var count: Int { values.count }

    /// The strategy that new accesses ask; until a switch has ended, the old one.
    package var kind: StrategyKind { shared.kind }

    /// Whether an access to the stripe is best submitted: it would be applied later, on another
    /// thread.
    @inlinable package func appliesLater(_ stripe: Int, _ mode: AccessMode) -> Bool {
        with(stripe) { section, _ in section.appliesLater(mode) }
    }

    /// The writes that were accepted and are not yet applied, over all stripes.
    package var backlogCount: Int { guards.reduce(0) { $0 + $1.backlogCount } }

    /// The longest backlog of a stripe; the limit is per stripe.
    package var fullestBacklogCount: Int { guards.reduce(0) { max($0, $1.backlogCount) } }

    // MARK: in place

    /// Runs `body` with a stripe's value, and blocks until it has run.
    @inlinable
    package func read<Result>(_ stripe: Int, _ ask: Ask, _ body: (Value) -> Result) -> Result {
        with(stripe) { section, value in
            var access = Access(.read, ask)
            if section.enter(&access) != .isRun {
                defer { section.leave(access) }
                return unsafe value.read { body($0.value) }
            }
            if let reading = section.beginReading(&access) {
                defer { section.endReading(reading, access) }
                return unsafe reading.version.read { body($0.value) }
            }
            var result: Result?
            section.run(&access) { place in result = place.read(value, body) }
            guard let result else { preconditionFailure("A guard runs the body.") }
            return result
        }
    }

    /// Runs `body` with a stripe's value, which it may change, and then `published`, and blocks
    /// until both have run.
    ///
    /// `published` runs inside, when readers find what was written.
    @inlinable package func write<Result>(
        _ stripe: Int,
        _ ask: Ask,
        _ body: (inout Value) -> Result,
        published: () -> Void
    ) -> Result {
        with(stripe) { section, value in
            var access = Access(.write, ask)
            switch section.enter(&access) {
            case .inPlace:
                defer { section.leave(access) }
                defer { published() }
                return unsafe value.write(body)
            case .copied:
                defer { section.leave(access) }
                defer { published() }
                return section.place(access).write(value, body)
            case .isRun:
                var result: Result?
                section.run(&access) { place in
                    result = place.write(value, body)
                    published()
                }
                guard let result else { preconditionFailure("A guard runs the body.") }
                return result
            }
        }
    }
}

// MARK: later

extension Stripes {
    /// Submits a read, and calls `completion` with its result, outside.
    ///
    /// - Throws: ``BacklogFull`` if as many reads wait as the strategy accepts.
    @inlinable package func submitRead<Result: Sendable>(
        _ stripe: Int,
        _ ask: Ask,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let (value, answer) = (values[stripe], Answer<Result>())
        try guards[stripe].submit(.read, ask) { place in
            answer.result = place.read(value, body)
        } completion: {
            if let result = answer.result.take() { completion(result) }
        }
    }

    /// Submits a write, and calls `completion` with its result, outside.
    ///
    /// Writes that one thread submits to a stripe are applied in order, also while its guard is
    /// switched.
    ///
    /// - Throws: ``BacklogFull`` if as many writes wait as the strategy accepts.
    @inlinable package func submitWrite<Result: Sendable>(
        _ stripe: Int,
        _ ask: Ask,
        _ body: @escaping @Sendable (inout Value) -> Result,
        published: @escaping @Sendable () -> Void,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let (value, answer) = (values[stripe], Answer<Result>())
        try guards[stripe].submit(.write, ask) { place in
            answer.result = place.write(value, body)
            published()
        } completion: {
            if let result = answer.result.take() { completion(result) }
        }
    }
}

/// The result that an access has made inside, for its completion.
///
/// SAFETY: `@unchecked Sendable` because the completion is called after the access has left.
@usableFromInline final class Answer<Result: Sendable>: @unchecked Sendable {
    @usableFromInline var result: Result?

    @inlinable init() {}
}

// MARK: the switch

extension Stripes {
    /// Switches all stripes to another strategy, one after the other, and blocks meanwhile.
    ///
    /// - Parameters:
    ///   - kind: The strategy from now on.
    ///   - holdingAll: Called with all stripes held: with true before the first stripe gets a
    ///     strategy whose readers enter during writes, with false after the last one has left it.
    /// - Returns: How long it took.
    /// - Throws: ``SwitchRefusal``; then nothing was changed.
    package func `switch`(
        to kind: StrategyKind,
        holdingAll: (_ readsDuringWrites: Bool) -> Void
    ) throws(SwitchRefusal) -> SwitchReport {
        if kind.traits.prefersOneStripe, count > 1 {
            throw .needsOneStripe(kind, stripeCount: count)
        }
        // Acquiring and releasing: the effects of the last switch are seen.
        let isFree = shared.isSwitching.compareExchange(
            expected: false,
            desired: true,
            ordering: .acquiringAndReleasing
        ).exchanged
        guard isFree else { throw .underWay }
        defer { shared.isSwitching.store(false, ordering: .releasing) }
        let (from, new) = (shared.kind, SharedGuards.number(kind))
        guard from != kind else { return SwitchReport(from: from, to: kind) }
        for section in guards { section.make(new) }
        shared.longestAccess.store(0, ordering: .relaxed)
        for section in guards { section.watch(true) }
        let start = latchkey_system_nanoseconds()
        var longestHold: UInt64 = 0
        if kind.traits.readsDuringWrites { longestHold = whileHeld { holdingAll(true) } }
        for (section, value) in zip(guards, values) {
            let held = section.change(to: new) { left, entered in
                left.snapshot?.retire()
                entered.snapshot?.begin(value)
            }
            longestHold = max(longestHold, held)
        }
        shared.number.store(new, ordering: .releasing)
        if from.traits.readsDuringWrites {
            longestHold = max(longestHold, whileHeld { holdingAll(false) })
        }
        let duration = latchkey_system_nanoseconds() &- start
        for section in guards { section.watch(false) }
        return SwitchReport(
            from: from,
            to: kind,
            duration: .nanoseconds(duration),
            longestHold: .nanoseconds(longestHold),
            longestAccess: .nanoseconds(shared.longestAccess.load(ordering: .relaxed))
        )
    }

    /// Runs `body` while no write to any stripe takes effect.
    ///
    /// - Returns: For how long the first stripe may have been held, in nanoseconds.
    private func whileHeld(_ body: () -> Void) -> UInt64 {
        let several = SeveralGuards(guards, .read, .here())
        let start = latchkey_system_nanoseconds()
        several.hold()
        body()
        several.leave()
        return latchkey_system_nanoseconds() &- start
    }
}

// MARK: the value

extension ValuePlace {
    /// Lends the value to a reader, from inside.
    @inlinable func read<Value, Result>(
        _ value: GuardedValue<Value>,
        _ body: (Value) -> Result
    ) -> Result {
        switch self {
        case .inPlace: unsafe value.read { body($0.value) }
        case .published(let version): unsafe version.read { body($0.value) }
        case .copied(let snapshot): unsafe snapshot.reading(value) { body($0.value) }
        }
    }

    /// Lends the value to a writer, from inside.
    @inlinable func write<Value, Result>(
        _ value: GuardedValue<Value>,
        _ body: (inout Value) -> Result
    ) -> Result {
        switch self {
        case .inPlace: unsafe value.write(body)
        case .published: preconditionFailure("A writer finds no version.")
        case .copied(let snapshot): unsafe snapshot.writing(value, body)
        }
    }
}
