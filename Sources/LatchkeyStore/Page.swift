/// The parameters of a listing.
@usableFromInline
package struct PageRequest: Sendable {
    package static let limitDefault = 100
    package static let limitMax = 1000

    /// Only names that begin with these bytes.
    let prefix: OwnedBytes
    /// Only names after this one, which need not exist.
    let after: OwnedBytes?
    let limit: Int
    /// The page ends behind the property that makes names and values this long together.
    let byteCountMax: Int

    package init(
        prefix: OwnedBytes,
        after: OwnedBytes?,
        limit: Int,
        byteCountMax: Int = .max
    ) {
        precondition((1...Self.limitMax).contains(limit), "A page has 1 to 1000 properties.")
        self.prefix = prefix
        self.after = after
        self.limit = limit
        self.byteCountMax = byteCountMax
    }
}

/// Properties in the order of their names, all as of one revision of the store.
@usableFromInline
package struct Page: Sendable {
    package let revision: Revision
    /// When the page was taken.
    package let time: Timestamp
    package let properties: [Property]
    /// Whether more properties follow.
    package let hasMore: Bool
}

extension Page {
    /// The page of a snapshot.
    ///
    /// Nothing of the snapshot but the listed properties outlives the call.
    @usableFromInline
    init(_ request: PageRequest, _ snapshot: StoreSnapshot) {
        var walk = snapshot.walk(prefix: request.prefix, after: request.after)
        var properties: [Property] = []
        var byteCount = 0
        while properties.count < request.limit, byteCount < request.byteCountMax,
            let property = walk.next()
        {
            properties.append(property)
            byteCount += property.byteCount
        }
        self.init(
            revision: snapshot.revision,
            time: snapshot.time,
            properties: properties,
            hasMore: walk.next() != nil
        )
    }
}
