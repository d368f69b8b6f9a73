internal import LatchkeyJSON

/// The work that deciding a change may still take while its stripes are held.
///
/// A small change can work on many names and long values, several times each. The limit keeps the
/// time short: the change is refused before the step that would exceed it, and nothing of it is
/// applied.
///
/// The work is counted in units and not in time, so that all replicas refuse the same. A unit is a
/// name that is visited, or a KiB that is compared or merged, which takes longer. The content of a
/// text counts, too: see ``JSONEquality`` and ``MergePatch``.
///
/// By the first rules, the bytes that a transaction reads and writes are counted instead.
struct ChangeWork {
    /// A step that takes a prefix looks it up in each stripe, however many names begin with it.
    ///
    /// Enough for many stripes: each replica chooses their number itself.
    private static let walkUnits = 512
    /// The cost if the same prefix was looked up before.
    private static let nextWalkUnits = 64
    /// The cost of the removal of a name, besides the visit.
    ///
    /// It takes ten times as long, but a step deletes a thousand names at most.
    private static let deletionUnits = 3
    /// How many pairs of prefixes the pops with claims of a change can have.
    private static let claimPairCountMax = 8
    /// How many drafts are looked at for one unit.
    private static let draftsPerUnit = 16
    /// By the first rules, the cost of looking at a property, besides its name.
    private static let visitByteCount = 64

    let rules: RuleLevel
    private let max: Int
    private var left: Int

    /// - Parameters:
    ///   - context: The source of the rules and the limits.
    ///   - isSingle: Whether the change has one step and is no transaction: by the first rules, it
    ///     has no limit.
    init(_ context: CommitContext, isSingle: Bool = false) {
        rules = context.rules
        max =
            if rules >= .second {
                context.limits.changeUnitsMax
            } else {
                isSingle ? JSONWork.unbounded : context.limits.transactionByteCountMax
            }
        left = max
    }

    /// The units taken so far, at most the limit.
    var units: UInt64 { rules >= .second ? UInt64(max - Swift.max(0, left)) : 0 }

    private mutating func take(_ count: Int) throws(Refusal) {
        guard count <= left else {
            throw .transactionTooLarge
        }
        left -= count
    }

    /// Refuses too many pairs of prefixes: each one may have to pass all names that there are.
    func check(claimPairCount: Int) throws(Refusal) {
        guard rules < .second || claimPairCount <= Self.claimPairCountMax else {
            throw .transactionTooLarge
        }
    }

    /// The cost of a text of so many bytes.
    private func cost(_ byteCount: Int) -> Int {
        rules >= .second ? byteCount / 1024 : byteCount
    }

    /// Takes one name that a condition or a step gives.
    mutating func takeName() throws(Refusal) {
        if rules >= .second {
            try take(1)
        }
    }

    /// Whether a condition holds.
    mutating func holds(
        _ test: Transaction.Test,
        _ property: Property?
    ) throws(Refusal) -> Bool {
        try takeName()
        switch test {
        case .revision(let revision):
            return property?.revision ?? 0 == revision
        case .exists(let exists):
            return (property != nil) == exists
        case .equals(let value):
            guard let property else {
                return false
            }
            return try unsafe areEqual(property, value)
        case .compares(.notEqual, let value):
            guard let property else {
                return false
            }
            return try unsafe !areEqual(property, value)
        case .compares(let relation, let value):
            guard let property else {
                return false
            }
            try unsafe take(cost(property.valueBytes.count + value.count))
            let (one, other) = unsafe (JSONView(property.valueBytes), JSONView(value))
            if rules >= .second, one.kind == .number, other.kind == .number {
                try unsafe take((one.bytes.count + other.bytes.count) / JSONWork.digitsPerUnit)
            }
            return JSONOrder.holds(one, relation, other)
        }
    }

    private mutating func areEqual(
        _ property: Property,
        _ value: UnsafeRawBufferPointer
    ) throws(Refusal) -> Bool {
        try unsafe take(cost(property.valueBytes.count + value.count))
        let (one, other) = unsafe (JSONView(property.valueBytes), JSONView(value))
        guard rules >= .second else {
            return JSONEquality.areEqual(one, other)
        }
        guard let areEqual = JSONEquality.areEqual(one, other, within: &left) else {
            throw .transactionTooLarge
        }
        return areEqual
    }

    /// The target after a merge patch.
    mutating func merge(
        _ patch: UnsafeRawBufferPointer,
        into target: Property?
    ) throws(Refusal) -> [UInt8] {
        try unsafe take(cost((target?.valueBytes.count ?? 0) + patch.count))
        let view = target.map { unsafe JSONView($0.valueBytes) }
        guard rules >= .second else {
            return unsafe MergePatch.apply(patch: JSONView(patch), to: view)
        }
        guard
            let value = unsafe MergePatch.apply(patch: JSONView(patch), to: view, within: &left)
        else {
            throw .transactionTooLarge
        }
        return value
    }

    /// Takes the cost of the value that an increment reads.
    mutating func takeNumber(_ property: Property?) throws(Refusal) {
        guard let text = unsafe property?.valueBytes else { return }
        if rules < .second {
            try take(text.count)
        } else if unsafe !JSONInteger.isTooLong(text) {
            // It has white space around it.
            try take(text.count / JSONWork.digitsPerUnit)
        }
    }

    /// Takes the copying of a value.
    ///
    /// The value of a put is copied before the stripes are held.
    mutating func takeCopy(_ property: Property?) throws(Refusal) {
        try unsafe take(cost(property?.valueBytes.count ?? 0))
    }

    /// Takes the cost of a touch, by the first rules only: it copies no long value.
    mutating func takeTouch(_ property: Property) throws(Refusal) {
        if rules < .second {
            try takeCopy(property)
        }
    }

    /// Takes the removal of a name that a walk yields.
    mutating func delete(_ name: PropertyName) throws(Refusal) {
        try visit(name)
        try pass(Self.deletionUnits)
    }

    /// Takes the beginning of a walk through the names of a prefix.
    ///
    /// Each draft is looked at, and those that were changed are sorted.
    mutating func beginWalk(
        drafts: Int,
        changed: Int,
        isKnown: Bool = false
    ) throws(Refusal) {
        if rules >= .second {
            let units = isKnown ? Self.nextWalkUnits : Self.walkUnits
            try take(units + drafts / Self.draftsPerUnit + changed)
        } else {
            try take(Self.visitByteCount * drafts)
        }
    }

    /// Takes names that a walk passes, whether it yields them or not.
    mutating func pass(_ count: Int) throws(Refusal) {
        if rules >= .second {
            try take(count)
        }
    }

    /// Takes a name that a walk yields.
    mutating func visit(_ name: PropertyName) throws(Refusal) {
        if rules < .second {
            try unsafe take(Self.visitByteCount + name.bytes.count)
        }
    }

    /// How many names can still be passed.
    var passableCount: Int { rules >= .second ? left : .max }
}
