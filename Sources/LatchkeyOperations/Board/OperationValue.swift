internal import LatchkeyStore

/// A valid JSON text that one step passes on to the next one.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because the bytes are only read, and their owner keeps
/// them in place.
@safe
package struct OperationValue: @unchecked Sendable {
    package let bytes: UnsafeRawBufferPointer
    let owner: AnyObject

    /// Borrows bytes that the owner keeps.
    package init(_ bytes: UnsafeRawBufferPointer, owner: AnyObject) {
        unsafe self.bytes = bytes
        self.owner = owner
    }

    /// Copies a text.
    package init(_ text: [UInt8]) {
        let owner = OwnedBytes(text)
        unsafe self.init(owner.bytes, owner: owner)
    }

    /// The value of a property, which is not copied.
    init(of property: Property) {
        unsafe self.init(property.valueBytes, owner: property.owner)
    }

    static let null = Self(Array("null".utf8))
}
