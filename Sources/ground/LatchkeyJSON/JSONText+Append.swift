internal import Glibc

extension JSONText {
    /// Appends a valid text as one line: line feeds and carriage returns are white space in JSON,
    /// and become spaces.
    package static func append(oneLine text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        let start = bytes.count
        unsafe bytes.append(contentsOf: text)
        unsafe bytes.withUnsafeMutableBytes { bytes in
            for lineEnd: Int32 in [0x0A, 0x0D] {
                var rest = unsafe bytes[start...]
                while let first = unsafe UnsafeMutableRawBufferPointer(rebasing: rest).baseAddress,
                    let found = unsafe memchr(first, lineEnd, rest.count)
                {
                    unsafe found.storeBytes(of: 0x20, as: UInt8.self)
                    unsafe rest = rest.dropFirst(found - first + 1)
                }
            }
        }
    }

    /// Appends a string that is these bytes of UTF-8.
    ///
    /// Parts that need no escape, the usual case, are copied as a whole.
    package static func append(string text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var start = 0
        for index in 0..<text.count where isEscaped(unsafe text[index]) {
            unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[start..<index]))
            append(escaped: unsafe text[index], to: &bytes)
            start = index + 1
        }
        unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[start...]))
        bytes.append(UInt8(ascii: "\""))
    }

    /// Quotes, backslashes and control characters.
    static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func append(escaped byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        guard byte < 0x20 else {
            bytes.append(byte)
            return
        }
        let low = byte & 15
        bytes.append(contentsOf: "u00".utf8)
        bytes.append(UInt8(ascii: "0") + byte >> 4)
        bytes.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
    }
}
