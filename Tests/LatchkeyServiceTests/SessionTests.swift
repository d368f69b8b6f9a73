import LatchkeyStore
import Testing

@testable import LatchkeyAccess
@testable import LatchkeyFrame
@testable import LatchkeyService

/// The cookies of sessions, with a clock of the test.
@Suite
struct SessionTests {
    /// The value of a `Set-Cookie` field, up to its first attribute.
    private func value(_ field: String) -> Substring {
        field.prefix { $0 != ";" }.drop { $0 != "=" }.dropFirst()
    }

    @Test func `a cookie counts until its time is over`() {
        let clock = TestClock()
        let sessions = Sessions(lifetime: .seconds(60)) {
            Timestamp(milliseconds: Int64(clock.read()))
        }
        let digest = SHA256.digest([1])
        let cookie = value(sessions.cookie(for: digest))
        #expect(sessions.digest(of: cookie) == digest)
        clock.advance(59_999)
        #expect(sessions.digest(of: cookie) == digest)
        clock.advance(1)
        #expect(sessions.digest(of: cookie) == nil)
        #expect(sessions.digest(of: value(sessions.cookie(for: digest))) == digest)
    }

    @Test func `a cookie of another process does not count`() {
        let (one, other) = (Sessions(lifetime: .seconds(60)), Sessions(lifetime: .seconds(60)))
        let cookie = one.cookie(for: SHA256.digest([1]))
        #expect(other.digest(of: value(cookie)) == nil)
        #expect(cookie.prefix { $0 != "=" } != other.removal.prefix { $0 != "=" })
    }

    @Test(arguments: ["", ".", "..", "...", "a.b.c", "00.9999999999999999999999.00", "é.1.é"])
    func `an invalid cookie does not count`(value: String) {
        let sessions = Sessions(lifetime: .seconds(60))
        #expect(sessions.digest(of: value[...]) == nil)
    }
}
