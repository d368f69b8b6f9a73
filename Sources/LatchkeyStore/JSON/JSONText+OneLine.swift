extension JSONText {
    /// Appends a valid text as one line: line feeds and carriage returns are white space in JSON,
    /// and become spaces.
    package static func append(oneLine text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        let start = bytes.count
        unsafe bytes.append(contentsOf: text)
        for index in start..<bytes.count where bytes[index] == 0x0A || bytes[index] == 0x0D {
            bytes[index] = 0x20
        }
    }
}
