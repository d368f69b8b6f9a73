import Foundation
import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

@testable import LatchkeyAccess
@testable import LatchkeyReplicas
@testable import LatchkeyService

/// Files and notes with seeded changes: they are refused, or have a content that could have been
/// written.
struct HostileFileTests {
    private static let count = Depth.count(3000, deep: 100_000)

    @Test func `a token file that was changed is refused, or grants what it says`() throws {
        var random = SeededGenerator(1)
        let lines = try [["read:a/", "write:a%2Fb"], ["admin"], ["read,write", "export"]]
            .enumerated().map { try TokenLine.make("name\($0)", $1).line }
        let text = Array(("# tokens\n" + lines.joined(separator: "\n") + "\r\n").utf8)
        let signs = ["%", "%0", ":", ",", "sha256:", " ", "\r"].map { Array($0.utf8) }
        let parts = SeededGenerator.texts + signs
        for _ in 0..<Self.count {
            let changed = String(decoding: random.mutated(text, parts), as: UTF8.self)
            do throws(InvalidTokenLine) {
                _ = try TokenLine.lines(of: changed)
            } catch {
                #expect(error.message.hasPrefix("Line "))
            }
        }
    }

    @Test func `a changed answer of 0.1 is invalid, or one that a service sends`() throws {
        var random = SeededGenerator(2)
        let none = Bytes("")
        let print = RequestFingerprint(method: none, path: none, query: none, body: none)
        let note = try EarlierNote(fingerprint: print, status: 200).bytes
        #expect(EarlierAnswer(note)?.fields.count == 2)
        for _ in 0..<Self.count {
            guard let changed = EarlierAnswer(random.mutated(note, SeededGenerator.texts))
            else { continue }
            #expect((200..<501).contains(changed.status))
            for field in changed.fields {
                #expect(field[1].utf8.allSatisfy { (0x20..<0x7F).contains($0) })
            }
        }
        let text = String(decoding: note, as: UTF8.self)
        for (from, to) in [
            (":200", ":0"), (":200", ":65535"), (":200", ":429"), ("no-c", "\\r\\n"),
        ] {
            #expect(EarlierAnswer(Array(text.replacing(from, with: to).utf8)) == nil, "\(to)")
        }
    }

    @Test func `a changed agreement is invalid, or says whether it fits`() {
        var random = SeededGenerator(3)
        var configuration = ServiceConfiguration()
        configuration.startRevision = 7
        let own = ClusterAgreement(configuration)
        for _ in 0..<Self.count {
            let changed = random.mutated(own.encoded, SeededGenerator.texts)
            guard let agreement = ClusterAgreement(decoding: changed) else { continue }
            #expect(agreement.objection(to: own)?.isEmpty != true)
            #expect(agreement.start <= 1 << 62)
        }
        let text = String(decoding: own.encoded, as: UTF8.self)
        let late = text.replacing("\"start\":7", with: "\"start\":18446744073709551615")
        #expect(ClusterAgreement(decoding: Array(late.utf8)) == nil)
    }
}
