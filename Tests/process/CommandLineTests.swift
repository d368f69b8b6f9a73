import Foundation
import LatchkeyService
import LatchkeySettings
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyCommandLine
@testable import latchkey

/// The program's flags, output, status and signals.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct CommandLineTests {
    private func run(
        _ arguments: [String],
        environment: [String: String] = [:]
    ) async throws -> (status: Int32, output: String, errors: String) {
        try await Program.result(of: arguments, environment: environment)
    }

    @Test(arguments: [
        ([], "no command is given."),
        (["fly"], "unknown command 'fly'."),
        (["compre"], "unknown command 'compre'. Did you mean 'compare'?"),
        (["help", "srve"], "unknown command 'srve'. Did you mean 'serve'?"),
        (["serve", "--nope"], "unknown flag '--nope' of 'latchkey serve'."),
        (
            ["compare", "--thread", "1"],
            "unknown flag '--thread' of 'latchkey compare'. Did you mean '--threads'?"
        ),
        (
            ["serve", "-port", "1"],
            "'latchkey serve' takes flags, not '-port'. Did you mean '--port'?"
        ),
        (
            ["serve", "---port=1"],
            "unknown flag '---port' of 'latchkey serve'. Did you mean '--port'?"
        ),
        (["serve", "nope"], "'latchkey serve' takes flags, not 'nope'."),
        (["serve", "-p", "1"], "'latchkey serve' takes flags, not '-p'."),
        (["serve", "--port"], "--port needs a value."),
        (["serve", "--port", "1", "--port=2"], "--port is given twice."),
        (
            ["serve", "--port", "65536"],
            "--port takes a whole number from 0 to 65535, not '65536'."
        ),
        (["serve", "--port=-1"], "--port takes a whole number from 0 to 65535, not '-1'."),
        (["serve", "--port="], "--port takes a whole number from 0 to 65535, not ''."),
        (["serve", "--stripes", "3"], "--stripes takes a power of two from 1 to 1024, not '3'."),
        (["serve", "--stripes", "0"], "--stripes takes a power of two from 1 to 1024, not '0'."),
        (["serve", "--host="], "--host needs a value."),
        (["serve", "--server-timing=yes"], "--server-timing takes true or false, not 'yes'."),
        (["strategies", "--format", "xml"], "--format takes one of text, json, not 'xml'."),
        (
            ["strategies", "--format", "jsn"],
            "--format takes one of text, json, not 'jsn'. Did you mean 'json'?"
        ),
        (
            ["serve", "--drain-seconds", "5 s"],
            "--drain-seconds takes a whole number from 0 to 86400 seconds, such as 30s or 5m, not "
                + "'5 s'."
        ),
    ])
    func `a bad command line is a sentence and status 2`(
        arguments: [String],
        sentence: String
    ) async throws {
        let result = try await run(arguments)
        #expect(result.status == 2)
        let commands = ["serve", "compare", "strategies"]
        let known = arguments.first.map { commands.contains($0) ? "\($0) " : "" } ?? ""
        #expect(result.errors == "latchkey: \(sentence)\nTry 'latchkey \(known)--help'.\n")
        #expect(result.output.isEmpty)
    }

    @Test func `an unknown strategy is answered with the list`() async throws {
        let result = try await run(["serve", "--strategy", "hope"])
        #expect(result.status == 2)
        for kind in StrategyKind.allCases {
            #expect(result.errors.contains(kind.rawValue))
        }
        let near = try await run(["serve", "--strategy", "spni"])
        #expect(near.errors.contains("not 'spni'. Did you mean 'spin'?\n"))
        let list = try await run(["compare", "--strategies", "lock,adaptve"])
        #expect(list.errors.contains("not 'adaptve'. Did you mean 'adaptive'?\n"))
    }

    @Test func `the environment stands in for flags and is checked like them`() async throws {
        let bad = try await run(["serve"], environment: ["LATCHKEY_DRAIN_SECONDS": "soon"])
        #expect(bad.status == 2)
        #expect(bad.errors.contains("LATCHKEY_DRAIN_SECONDS takes a whole number"))
        let program = try Program(
            ["serve", "--port=0"],
            environment: ["LATCHKEY_STRATEGY": "spin", "LATCHKEY_PORT": "1"]
        )
        let port = try await offPool { try program.awaitPort() }
        #expect(port > 1, "a flag on the command line wins")
        let text = try await offPool { try Site(port: port).ask("GET", "/v1/strategies").text }
        #expect(text.contains(#""serving":"spin""#))
        #expect(try await offPool { program.end() } == 0)
    }

    @Test func `variables that Kubernetes sets for a service of this name are ignored`()
        async throws
    {
        let links = [
            "LATCHKEY_PORT": "tcp://10.0.0.11:8080",
            "LATCHKEY_PORT_8080_TCP": "tcp://10.0.0.11:8080",
            "LATCHKEY_PORT_8080_TCP_PROTO": "tcp",
            "LATCHKEY_PORT_8080_TCP_PORT": "8080",
            "LATCHKEY_PORT_8080_TCP_ADDR": "10.0.0.11",
            "LATCHKEY_SERVICE_HOST": "10.0.0.11",
            "LATCHKEY_SERVICE_PORT": "8080",
            "LATCHKEY_SERVICE_PORT_HTTP": "8080",
            "LATCHKEY_ADMIN_PORT": "udp://10.0.0.12:53",
            "LATCHKEY_ADMIN_SERVICE_HOST": "10.0.0.12",
        ]
        #expect(EnvironmentVariables.unknown(in: links, ServeCommand.flags).isEmpty)
        _ = try ServeCommand.configuration([]) { links[$0] }
        let program = try Program(["serve", "--port=0"], environment: links)
        _ = try await offPool { try program.awaitPort() }
        #expect(try await offPool { program.end() } == 0)
    }

    @Test func `a variable that belongs to no flag is warned of, with a suggestion`() async throws {
        let sentences = EnvironmentVariables.unknown(
            in: [
                "LATCHKEY_MAX_CONECTIONS": "5", "LATCHKEY_PORT": "80", "LATCHKEY_ZZZZZZZZZZ": "",
                "LATCHKEY_PORT_NAME": "x", "HOME": "/",
            ],
            ServeCommand.flags
        )
        #expect(
            sentences == [
                "LATCHKEY_MAX_CONECTIONS belongs to no flag. "
                    + "Did you mean 'LATCHKEY_MAX_CONNECTIONS'?",
                "LATCHKEY_PORT_NAME belongs to no flag.",
                "LATCHKEY_ZZZZZZZZZZ belongs to no flag.",
            ]
        )
        // A bad value ends the program after the warning, which the log has.
        let result = try await Program.result(
            of: ["serve", "--port=0", "--max-connections=65536"],
            environment: ["LATCHKEY_MAX_CONECTIONS": "5"],
            limits: "max-exports=4",
            after: "ulimit -n 64"
        )
        #expect(result.status == 1)
        #expect(result.errors.contains("Did you mean 'LATCHKEY_MAX_CONNECTIONS'?"))
        #expect(result.errors.contains("LATCHKEY_LIMITS=max-exports=4"))
    }

    @Test func `each command prints the same help however it is asked for`() async throws {
        for command in Self.commands {
            let (long, short) = try await (run(command + ["--help"]), run(command + ["-h"]))
            #expect(long.status == 0 && long.output.hasPrefix("latchkey"))
            #expect(long.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
            #expect(short.status == 0)
            #expect(short.output == long.output)
            #expect(try await run(["help"] + command).output == long.output)
        }
        let full = try await run(["serve", "--help", "all"]).output
        #expect(full.contains("\n  --log-level NAME\n"))
        #expect(try await run(["help", "serve", "all"]).output == full)
    }

    private static let commands = [
        [], ["serve"], ["check-config"], ["compare"], ["strategies"], ["advise"], ["health"],
        ["check"], ["recover"], ["backup"], ["restore"],
    ]

    @Test(arguments: [60, 40])
    func `help and errors are broken between words by a narrow terminal`(width: Int) async throws {
        let narrow = ["COLUMNS": "\(width)"]
        let calls = Self.commands.map { $0 + ["--help"] } + [["strategies"]]
        for call in calls {
            let (wide, text) = try await (run(call), run(call, environment: narrow))
            for line in text.output.split(separator: "\n") where line.count > width {
                // A single word has nowhere to be broken.
                #expect(line.split(separator: " ").count == 1, "\(line)")
            }
            let words = { (text: String) in text.split { $0.isWhitespace } }
            #expect(words(text.output) == words(wide.output))
        }
        let error = try await run(["serve", "--strategy", "hope"], environment: narrow).errors
        #expect(error.split(separator: "\n").count > 2)
        #expect(error.split(separator: "\n").allSatisfy { $0.count <= width })
    }

    @Test(arguments: [
        ["--version"], ["--help"], ["serve", "--help"], ["strategies"],
        ["strategies", "--format", "json"],
    ])
    func
        `standard output that cannot be written is a sentence and status 2, unless its reader went`(
            arguments: [String]
        ) async throws
    {
        for (shell, reason) in [
            ("exec >/dev/full", "No space left on device"), ("exec >&-", "Bad file descriptor"),
        ] {
            let full = try await Program.result(of: arguments, after: shell)
            #expect(full.status == 2)
            #expect(full.errors == "latchkey: standard output cannot be written: \(reason).\n")
        }
        // The only reader of the pipe is gone by the time that anything is printed.
        let closed = try await Program.result(
            of: arguments,
            after: "mkfifo $FIFO; : <$FIFO & exec >$FIFO; wait $!; rm $FIFO".replacing(
                "$FIFO",
                with: FileManager.default.temporaryDirectory.path() + "latchkey-\(UUID())"
            )
        )
        #expect(closed.status == 0)
        #expect(closed.errors.isEmpty, "\(closed.errors)")
    }

    @Test func `version and strategies are printed`() async throws {
        let version = try await run(["--version"]).output
        #expect(version.hasPrefix("latchkey \(Latchkey.version)"))
        #expect(version.contains(/\nbuild [0-9a-f]{40}, (debug|release), Swift 6/))
        #expect(version.contains(/\ngnutls 3.*libcurl \d.*libmicrohttpd \d.*sqlite 3/))
        let text = try await run(["strategies"]).output
        let json = try await run(["strategies", "--format=json"]).output
        let table = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        #expect((table?["strategies"] as? [Any])?.count == StrategyKind.allCases.count)
        for kind in StrategyKind.allCases {
            #expect(text.contains("\(kind.rawValue)\n"))
        }
    }

    @Test func `health tells a running service from none`() async throws {
        let program = try Program(["serve", "--port", "0"])
        let port = try await offPool { try program.awaitPort() }
        let second = try await run(["health", "--port", "1", "--admin-port", "\(port)"])
        #expect(second.status == 0)
        let well = try await run(["health", "--port", "\(port)"])
        #expect(well.status == 0)
        #expect(well.output == "latchkey: healthy\n")
        let elsewhere = try await run(["health", "--port", "\(port)", "--path", "/nowhere"])
        #expect(elsewhere.status == 1)
        #expect(try await offPool { program.end() } == 0)
        let gone = try await run(["health", "--port", "\(port)"])
        #expect(gone.status == 1)
        #expect(gone.errors.contains("connect"))
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a signal drains: what is in flight finishes, and nothing new is taken`(
        signal: Int32
    ) async throws {
        let program = try Program(["serve", "--port", "0"])
        try await offPool {
            let port = try program.awaitPort()
            let client = try HTTPClient(port: port)
            // The head has arrived, the body has not: the request is in flight.
            try client.send(
                "PUT /v1/properties/late HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            #expect(try client.answer().status == 100)
            let idle = try HTTPClient(port: port)
            #expect(try idle.request("GET", "/healthz").status == 200)
            program.signal(signal)
            while (try? HTTPClient(port: port)) != nil {
                Yield.now()
            }
            try client.send("1234")
            let answer = try client.answer()
            #expect(answer.status == 201)
            #expect(answer.headers["connection"]?.lowercased() == "close")
            #expect(try idle.isClosed())
        }
        #expect(try await offPool { program.wait() } == 0)
    }

    @Test(arguments: [nil, "trap '' HUP"])
    func `a hang-up does not end a service`(shell: String?) async throws {
        let program = try Program(["serve", "--port", "0"], after: shell)
        try await offPool {
            let client = try HTTPClient(port: try program.awaitPort())
            program.signal(SIGHUP)
            #expect(try client.request("GET", "/readyz").status == 200)
        }
        #expect(try await offPool { program.end() } == 0)
    }

    @Test func `the program says which admin port it has, and refuses one that is taken`()
        async throws
    {
        try await offPool {
            let program = try Program(["serve", "--port", "0", "--admin-port", "0"])
            try program.awaitErrors(containing: "serving admin port=")
            let port = try program.awaitPort()
            let ended = try Program(["serve", "--port", "0", "--admin-port", "\(port)"]).finish()
            #expect(ended.status == 1 && ended.errors.contains("cannot be listened on"))
            #expect(program.end() == 0)
        }
    }

    @Test func `an invalid address is an error with a reason`() async throws {
        let result = try await run(["serve", "--host", "not.a.host.invalid", "--port", "0"])
        #expect(result.status == 1)
        #expect(result.errors.contains("cannot start"))
    }

    @Test func `completion is printed for three shells`() async throws {
        for script in CompletionScript.allCases {
            let result = try await Program.result(of: ["completion", script.rawValue])
            #expect(result.status == 0)
            #expect(result.output == script.text)
        }
        let words = ["completion", "--words", "--", "serve", "--eviction", ""]
        #expect(try await Program.result(of: words).output == "words\nrefuse\nlru\n")
        for arguments in [[], ["tcsh"]] {
            let result = try await Program.result(of: ["completion"] + arguments)
            #expect(result.status == 2)
            #expect(result.errors.contains("needs a shell: bash, zsh or fish."))
        }
    }
}
