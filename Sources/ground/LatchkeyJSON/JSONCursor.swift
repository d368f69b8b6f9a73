/// A place in a valid JSON text, which only moves forward: no byte is read twice.
///
/// It borrows the text, as ``JSONView`` does.
///
/// SAFETY: `@safe` because it reads what a view of the text may read.
@safe
package struct JSONCursor {
    private let text: UnsafeRawBufferPointer
    private var index = 0

    /// Begins at a value.
    package init(_ json: JSONView) {
        unsafe text = json.bytes
    }

    /// The kind of the value at the cursor.
    package var kind: JSONView.Kind { unsafe JSONView.Kind(firstByte: text[index]) }

    /// Enters the array or the object at the cursor.
    package mutating func enter() {
        index += 1
    }

    /// Moves to the next element of the array that was entered; after the array if there is none.
    package mutating func nextElement() -> Bool {
        index = unsafe JSONScan.nextToken(text, index)
        guard unsafe text[index] == UInt8(ascii: "]") else {
            return true
        }
        index += 1
        return false
    }

    /// Moves to the value of the next member of the object that was entered.
    ///
    /// - Returns: the member's name. Nil if there is none: then the cursor is after the object.
    package mutating func nextName() -> JSONView? {
        let start = unsafe JSONScan.nextToken(text, index)
        guard unsafe text[start] == UInt8(ascii: "\"") else {
            index = start + 1
            return nil
        }
        let end = unsafe JSONScan.stringEnd(text, start)
        index = unsafe JSONScan.nextToken(text, end)
        return unsafe JSONView(text, start, end)
    }

    /// The value at the cursor, which moves past it.
    package mutating func value() -> JSONView {
        let start = index
        index = unsafe JSONScan.valueEnd(text, start)
        return unsafe JSONView(text, start, index)
    }
}
