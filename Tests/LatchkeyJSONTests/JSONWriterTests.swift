import Testing

@testable import LatchkeyJSON

/// Numbers, members that are written in one piece, and texts that are too long for one piece.
@Suite struct JSONWriterTests {
    @Test func `numbers of every length`() {
        var numbers: [UInt64] = [UInt64.max]
        var power: UInt64 = 1
        for _ in 0..<20 {
            numbers += [power - 1, power, power + 1, power &* 7 &+ 3]
            power = power.multipliedReportingOverflow(by: 10).partialValue
        }
        // Every pair of digits at every place.
        for number: UInt64 in 0..<10_000 {
            numbers += [number, number * 10_000 + 9_999 - number]
        }
        // The same ones in each run, of every number of bits.
        for index: UInt64 in 0..<10_000 {
            numbers.append(index &* 0x9E37_79B9_7F4A_7C15 >> (index % 64))
        }
        for number in numbers {
            #expect(written { $0.members { $0.integer(number) } } == "{\(number)}")
            var json = JSONWriter()
            json.integer(number)
            #expect(String(decoding: json.bytes, as: UTF8.self) == "\(number)")
        }
    }

    @Test(arguments: [0, -1, 7, Int.max, Int.min])
    func `numbers with a sign`(number: Int) {
        #expect(written { $0.member("a", number) } == #"{"a":\#(number)}"#)
    }

    @Test(arguments: [0, 1, 63, 64, 65, 256])
    func `strings of 64 bytes are written in one piece, longer ones alone`(count: Int) {
        let bytes = Array(repeating: UInt8(ascii: "x"), count: count)
        unsafe bytes.withUnsafeBytes {
            #expect(unsafe JSONWriter.fitsIntoPiece($0) == (count <= 64))
        }
    }

    @Test(arguments: ["\"", "\\", "\u{1}", "\u{1F}"])
    func `strings with escapes are written alone`(text: String) {
        unsafe Array(text.utf8).withUnsafeBytes {
            #expect(unsafe !JSONWriter.fitsIntoPiece($0))
        }
    }

    /// Every text of up to six of these bytes, after a byte that stays.
    @Test func `one line has spaces for line feeds and carriage returns, and nothing before it`() {
        var texts: [[UInt8]] = [[]]
        for _ in 0..<6 {
            texts += texts.flatMap { text in [0x0A, 0x0D, 0x31].map { text + [$0] } }
        }
        for text in texts {
            var bytes: [UInt8] = [0x0A]
            unsafe text.withUnsafeBytes { unsafe JSONText.append(oneLine: $0, to: &bytes) }
            #expect(bytes == [0x0A] + text.map { $0 == 0x31 ? 0x31 : 0x20 })
        }
    }

    @Test func `members have commas between them`() {
        let text = written {
            $0.members { $0.raw(#""a":1"#) }
            $0.member("b", "2")
            $0.members { piece in
                piece.raw(#""c":"#)
                unsafe Array("é".utf8).withUnsafeBytes { unsafe piece.string($0) }
            }
            $0.member("d", true)
        }
        #expect(text == #"{"a":1,"b":"2","c":"é","d":true}"#)
    }

    @Test func `a piece that is full stops`() async {
        await #expect(processExitsWith: .failure) {
            var json = JSONWriter()
            json.members { piece in
                for _ in 0...JSONPiece.byteCountMax { piece.raw("x") }
            }
        }
    }

    private func written(_ members: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter()
        json.object(members)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
