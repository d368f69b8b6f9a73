/// What a pop takes from, and how it claims it: the prefixes of two kinds of names that end alike.
@usableFromInline
struct ClaimPair: Sendable, Equatable {
    let prefix: PropertyName
    let claim: PropertyName

    /// The name of the claim on a property of the prefix; nil if it would be too long.
    func claim(on name: PropertyName) -> PropertyName? {
        unsafe Self.name(claim, name.bytes[prefix.bytes.count...])
    }

    /// The name of what a property claims; nil if it is no claim of this pair.
    func claimed(by name: PropertyName) -> PropertyName? {
        unsafe name.bytes.begins(with: claim.bytes)
            ? Self.name(prefix, name.bytes[claim.bytes.count...]) : nil
    }

    /// In memory of its own.
    func copy() -> Self { Self(prefix: prefix.copy(), claim: claim.copy()) }

    private static func name(
        _ prefix: PropertyName,
        _ rest: Slice<UnsafeRawBufferPointer>
    ) -> PropertyName? {
        let rest = unsafe UnsafeRawBufferPointer(rebasing: rest)
        let owner = unsafe OwnedBytes(copying: prefix.bytes, rest)
        return try? unsafe PropertyName(borrowing: owner.bytes, owner: owner)
    }
}

/// The pops with claims of a transaction.
@usableFromInline
struct ClaimPops: Sendable {
    /// Each once.
    private(set) var pairs: [ClaimPair] = []
    private(set) var count = 0

    init(_ transaction: Transaction) {
        for steps in [transaction.steps, transaction.otherwise] {
            for step in steps {
                guard case .pop(let claim?) = step.action else { continue }
                let pair = ClaimPair(prefix: step.name, claim: claim.prefix)
                count += 1
                if !pairs.contains(pair) {
                    pairs.append(pair)
                }
            }
        }
    }
}
