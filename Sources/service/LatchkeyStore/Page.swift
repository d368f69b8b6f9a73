/// The parameters of a listing.
package struct PageRequest: Sendable {
    package static let limitDefault = 100
    package static let limitMax = 1000

    /// Only these, each once; nil for all.
    private(set) var names: [PropertyName]?
    /// Only names that begin with these bytes.
    let prefix: OwnedBytes
    /// Only names after this one, which need not exist.
    let after: OwnedBytes?
    let limit: Int
    /// The page ends after the property with which names and values together reach this length.
    let byteCountMax: Int
    /// Names that have this byte after the prefix are listed as one folder, which ends with it.
    package let delimiter: UInt8?

    package init(
        prefix: OwnedBytes,
        after: OwnedBytes?,
        limit: Int,
        byteCountMax: Int = .max,
        delimiter: UInt8? = nil
    ) {
        precondition((1...Self.limitMax).contains(limit), "A page has 1 to 1000 properties.")
        precondition(delimiter.map { $0 < 0x80 } ?? true, "A delimiter is an ASCII character.")
        self.delimiter = delimiter
        self.prefix = prefix
        self.after = after
        self.limit = limit
        self.byteCountMax = byteCountMax
    }

    /// The properties that have these names, which own their bytes; at most ``limitMax``.
    package init(names: [PropertyName]) {
        self.init(prefix: OwnedBytes([]), after: nil, limit: Self.limitMax)
        self.names = Array(Set(names))
    }

    /// The folder that a property is listed as; nil if it is listed itself.
    fileprivate func folder(of property: Property) -> [UInt8]? {
        guard let delimiter else { return nil }
        let name = unsafe property.nameBytes
        guard let end = unsafe name[prefix.bytes.count...].firstIndex(of: delimiter) else {
            return nil
        }
        return unsafe Array(name[...end])
    }
}

/// Properties in the order of their names, all as of one revision of the store.
package struct Page: Sendable {
    package let revision: Revision
    /// When the page was taken.
    package let time: Timestamp
    package let properties: [Property]
    /// The folders of other properties, in the order of their names.
    package let folders: [[UInt8]]
    /// The name after which the next page begins; nil if nothing follows.
    package let next: [UInt8]?
    /// The rest that is still to be read, if many names have expired; else nil.
    ///
    /// Until it is read, this is not a page.
    package private(set) var unread: PageReading?

    /// Whether more follows.
    package var hasMore: Bool { next != nil }
}

extension Page {
    /// The page of properties that were asked for by their names.
    init(_ reading: TableReading<NamedContent>) {
        self.init(
            revision: reading.revision,
            time: reading.time,
            properties: reading.content.properties,
            folders: [],
            next: nil
        )
    }

    /// The page of a snapshot.
    ///
    /// If all is read, only the listed properties of the snapshot outlive the call.
    init(_ request: PageRequest, _ snapshot: StoreSnapshot) {
        var reading = PageReading(request, snapshot)
        let isRead = reading.read(unitsMax: 2 * PageRequest.limitMax)
        self = reading.page
        unread = isRead ? nil : reading
    }
}

/// A page that is being read.
package struct PageReading: PiecewiseReading {
    private let request: PageRequest
    private let snapshot: StoreSnapshot
    private var walk: MergedWalk
    private var properties: [Property] = []
    private var folders: [[UInt8]] = []
    /// The end of the last entry, if it is a folder.
    private var last: [UInt8]?
    private var byteCount = 0
    private var hasMore = false

    package init(_ request: PageRequest, _ snapshot: StoreSnapshot) {
        self.request = request
        self.snapshot = snapshot
        // With expired properties, which are counted where they are passed.
        walk = snapshot.walk(
            prefix: request.prefix,
            after: request.after,
            includesExpired: true
        )
    }

    package mutating func read(unitsMax: Int) -> Bool {
        var units = 0
        while units < unitsMax {
            guard let property = walk.next() else {
                return true
            }
            units += 1
            guard !property.isExpired(at: snapshot.time) else {
                continue
            }
            guard properties.count + folders.count < request.limit,
                byteCount < request.byteCountMax
            else {
                hasMore = true
                return true
            }
            if let folder = request.folder(of: property) {
                folders.append(folder)
                // After all of its names: no text in UTF-8 has this byte.
                let end = folder + [0xFF]
                units += walk.skip(to: OwnedBytes(end))
                last = end
                byteCount += folder.count
            } else {
                properties.append(property)
                byteCount += property.byteCount
                last = nil
            }
        }
        return false
    }

    package var page: Page {
        let last = last ?? properties.last.map { unsafe Array($0.nameBytes) }
        return Page(
            revision: snapshot.revision,
            time: snapshot.time,
            properties: properties,
            folders: folders,
            next: hasMore ? last : nil
        )
    }
}
