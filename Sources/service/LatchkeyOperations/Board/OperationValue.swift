package import LatchkeyStore

/// A valid JSON text that one step passes on to the next one.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because the bytes are only read, and their owner keeps
/// them in place.
@safe
package struct OperationValue: @unchecked Sendable {
    package let bytes: UnsafeRawBufferPointer
    let owner: AnyObject
    /// The properties that it shows: names, or prefixes of names, in memory of their own.
    ///
    /// A caller that may not read them may not see it.
    package let shown: [PropertyName]

    /// Borrows bytes that the owner keeps.
    package init(
        _ bytes: UnsafeRawBufferPointer,
        owner: AnyObject,
        shown: [PropertyName] = []
    ) {
        unsafe self.bytes = bytes
        self.owner = owner
        self.shown = shown
    }

    /// Copies a text.
    package init(_ text: [UInt8], shown: [PropertyName] = []) {
        let owner = OwnedBytes(text)
        unsafe self.init(owner.bytes, owner: owner, shown: shown)
    }

    /// The value of a property, which is not copied.
    init(of property: Property, shown: [PropertyName]) {
        unsafe self.init(property.valueBytes, owner: property.owner, shown: shown)
    }

    /// The memory that counts towards the limit.
    var byteCount: Int {
        unsafe shown.reduce(bytes.count) { unsafe $0 + $1.bytes.count }
    }

    static let null = Self(Array("null".utf8))
}
