import LatchkeyHTTP
import Testing

@Suite struct AllowedHostsTests {
    private let hosts = AllowedHosts(["Latchkey.Internal.", "10.0.0.7", "x"])

    @Test(arguments: [
        "localhost", "LOCALHOST", "localhost:8080", "localhost.", "localhost.:80", "a.localhost",
        "a.b.LocalHost:1", "localhost:", "127.0.0.1", "127.0.0.1:8080", "127.8.9.1.", "10.0.0.7",
        "[::1]", "[::1]:8080", "[::1]:", "latchkey.internal",
        "latchkey.internal.:9", "LATCHKEY.internal:9", "x", "X:80",
    ])
    func `a name that no other party can own is served`(authority: StaticStringArgument) {
        #expect(hosts.contain(Bytes(authority.value)))
    }

    @Test(arguments: [
        "", ":", ":80", ".", "evil.example", "evil.example:8080", "localhost.evil.example",
        "notlocalhost", "xlocalhost:80", "127.0.0.1.evil.example", "localhost@evil.example",
        "evil.example@localhost", "localhost:80@evil.example", "localhost:8x", "::1", "[::1",
        "[::1]x", "[::1]:8x", "[::1].evil.example", "a.latchkey.internal", "xlatchkey.internal",
        "latchkey.internal.evil.example", "latchkey.internal..", "y", "xx", "locblhost",
        "localhos", "0x7f.1", "\u{7f}localhost", "evil.example.localhost.x", "93.184.216.34:80",
        "10.0.0.70", "128.0.0.1", "[fe80::1]", "[::12]",
    ])
    func `any other name is not`(authority: StaticStringArgument) {
        #expect(!hosts.contain(Bytes(authority.value)))
    }

    @Test(arguments: ["93.184.216.34:80", "[fe80::1]:8080", "127.0.0.1"])
    func `addresses are all served if that is wanted`(authority: StaticStringArgument) {
        #expect(AllowedHosts(servesAllAddresses: true).contain(Bytes(authority.value)))
        #expect(!AllowedHosts(servesAllAddresses: true).contain(Bytes("evil.example")))
    }
}
