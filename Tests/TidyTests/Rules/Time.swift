extension Rule {
    static let time = Rule(
        "no test depends on time, but those of a list",
        broken: [
            Tree(["Tests/ATests/A.swift": "        usleep(1000)\n"]),
            Tree(["Tests/ATests/A.swift": "let end = ContinuousClock.now + .seconds(1)\n"]),
            Tree(["Tests/ATests/A.swift": "#expect(arrived.wait(timeout: .now() + 1) == .success)"]
            ),
            Tree(["Tests/ATests/A.swift": "wait(deadline: .now + .seconds(1))\n"]),
            Tree(["Tests/ATests/A.swift": "#expect(time < .seconds(1))\n"]),
            Tree(["Tests/ATests/A.swift": "let end = Date(timeIntervalSinceNow: 20)\n"]),
            Tree(["Tests/a/a.py": "    time.sleep(1)\n"]),
            Tree(["Tests/a/a.py": "    end = time.monotonic() + 1\n"]),
            Tree(["Tests/a/a.py": "    run(command, timeout=119.5)\n"]),
            Tree(["Tests/a/a.ts": "  setTimeout(end, 10);\n"]),
            Tree(["Tests/a/a.js": "  const end = Date.now() + 10;\n"]),
            Tree(["Tests/a/a.ts": "  const end = performance.now() + 10;\n"]),
            Tree(["Tests/a/a.sh": "start & sleep 1\n"]),
            Tree(["Tests/a/a.sh": "timeout 60 start\n"]),
            Tree(["Tests/a/a.c": "    nanosleep(&time, NULL);\n"]),
            Tree(["Tests/a/a.c": "    pause_milliseconds(10);\n"]),
            Tree(["Tests/a/a.c": "    clock_gettime(CLOCK_MONOTONIC, &now);\n"]),
            // More than the list has, and an entry that nothing needs.
            Tree([listed.path: String(repeating: "usleep(1)\n", count: listed.count + 1)]),
            Tree([listed.path: "arrived.wait()\n"]),
        ],
        kept: [
            Tree(["Tests/ATests/A.swift": "arrived.wait(timeout: .now())  // No usleep(1).\n"]),
            Tree(["Tests/ATests/A.swift": "let end = rig.now + 10\nclock.advance(.seconds(1))\n"]),
            Tree(["Tests/a/a.py": "arrived.wait()  # and no time.sleep(1)\n"]),
            Tree(["Tests/a/a.py": "run(timeout=PATIENCE_SECONDS)\nrun(timeout=120)\n"]),
            Tree(["Tests/a/a.ts": "await arrived; // and no setTimeout(end, 1)\n"]),
            Tree(["Tests/a/a.sh": "start  # no sleep 1\n"]),
            Tree(["Tests/a/a.c": "sem_wait(&arrived);  // No sleep(1).\n"]),
            Tree([listed.path: String(repeating: "usleep(1)\n", count: listed.count)]),
        ]
    ) { tree in
        tree.files(in: timed).flatMap { file -> [Finding] in
            let places = file.code.indices.filter { usesTime(file.code[$0], in: file.path) }
            let allowed = timedTests[file.path] ?? 0
            if places.isEmpty, allowed > 0 {
                let message = "uses no time: take it out of Tests/TidyTests/Rules/TimedTests.swift"
                return [Finding(path: file.path, line: 1, message: message)]
            }
            guard places.count != allowed else { return [] }
            return places.map { line in
                Finding(
                    path: file.path,
                    line: line + 1,
                    message: "depends on time: await an event, or drive a clock by hand"
                )
            }
        }
    }

    /// The tests but these, which have time in their examples.
    private static let timed = PathSet { path in
        path.hasPrefix("Tests/") && !path.hasPrefix("Tests/TidyTests/")
            && ["swift", "py", "ts", "js", "sh", "c", "h"].contains(path.suffix(after: "."))
    }

    /// A file of the list, for the examples.
    private static let listed: (path: String, count: Int) = {
        let first = timedTests.filter { PathSet.isSwift($0.key) }.min { $0.key < $1.key }
        return (first?.key ?? "Tests/ATests/A.swift", first?.value ?? 0)
    }()

    private static func usesTime(_ line: String, in path: String) -> Bool {
        switch path.suffix(after: ".") {
        case "swift": return usesTimeInSwift(line)
        case "py":
            let code = line.prefix { $0 != "#" }
            let limit = code.firstMatch(of: /\btimeout=([0-9.]+)/).flatMap { Double($0.1) }
            return limit.map { $0 < patienceSeconds } == true
                || ["sleep(", "time.monotonic(", "time.time(", "time.perf_counter("]
                    .contains { code.contains($0) }
        case "ts", "js":
            let code = line.prefix(upTo: line.firstRange(of: "// ")?.lowerBound ?? line.endIndex)
            return ["setTimeout(", "Date.now(", "performance.now("].contains { code.contains($0) }
        case "sh": return line.prefix { $0 != "#" }.contains(/\b(sleep|timeout) +[0-9$]/)
        default:
            return ["sleep(", "clock_gettime(", "pause_milliseconds("]
                .contains { line.contains($0) }
        }
    }

    /// PATIENCE_SECONDS of scripts/process.py.
    private static let patienceSeconds = 120.0

    private static func usesTimeInSwift(_ line: String) -> Bool {
        let clocks = [
            "sleep(", "ContinuousClock.now", "SuspendingClock", "DispatchTime.now()", "Date()",
            "Date(timeIntervalSinceNow", "_system_nanoseconds()", "to: .now)", "Patience.end",
            ".now() + ", " .now + ", "(.now + ",
        ]
        let units = [" .seconds(", " .milliseconds(", " .microseconds(", " .nanoseconds("]
        return clocks.contains { line.contains($0) }
            || ["<", ">", "<=", ">="].contains { sign in
                units.contains { line.contains(" " + sign + $0) }
            }
    }
}
