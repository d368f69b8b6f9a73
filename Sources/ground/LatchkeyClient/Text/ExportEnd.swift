/// Whether an export, which comes in pieces, has its last line: `{"end":true,…}`.
package struct ExportEnd: Sendable {
    private var lastLine: [UInt8] = []
    /// The bytes of the line after it, so far.
    private var rest: [UInt8] = []

    package init() {}

    package mutating func feed(_ bytes: UnsafeRawBufferPointer) {
        let lineFeed = UInt8(ascii: "\n")
        guard let end = unsafe bytes.lastIndex(of: lineFeed) else {
            unsafe rest += bytes
            return
        }
        if let former = unsafe bytes[..<end].lastIndex(of: lineFeed) {
            lastLine = unsafe Array(bytes[(former + 1)..<end])
        } else {
            lastLine = unsafe rest + bytes[..<end]
        }
        rest = unsafe Array(bytes[(end + 1)...])
    }

    package var isWhole: Bool {
        rest.isEmpty && JSONValue(lastLine)?["end"]?.boolean == true
    }
}
