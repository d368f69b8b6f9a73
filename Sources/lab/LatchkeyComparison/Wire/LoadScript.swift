/// The Lua script that makes `wrk` send the workload and print exact figures.
///
/// `wrk` itself prints rounded figures for people. Its hook `done` has the exact ones; the script
/// prints them on one line, in microseconds as `wrk` keeps them. ``LoadGenerator/Result/response``
/// says how it has corrected the latencies by then.
enum LoadScript {
    /// The length of a small value.
    static let value = "\"abcdefghijklmnopqrstuvwxyz0123\""

    static func name(_ key: Int) -> String { "key-\(key)" }

    /// The word that begins the script's line.
    static let mark = "latchkey-load"

    static let text = """
        local number = 0

        function setup(thread)
            thread:set("number", number)
            number = number + 1
        end

        -- Arguments: what to ask for (keys or nothing), how many keys, the share of reads, the
        -- exponent of the skew (0 is uniform), the seed.
        function init(args)
            touches = args[1] == "keys"
            keys, reads, exponent = tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
            math.randomseed(tonumber(args[5]) + number)
            weights, total, requests = {}, 0, {}
            if exponent > 0 then
                for key = 1, keys do
                    total = total + key ^ -exponent
                    weights[key] = total
                end
            end
            alone = wrk.format("GET", "/healthz")
        end

        local function pick()
            if exponent == 0 then return math.random(keys) end
            local wanted, low, high = math.random() * total, 1, keys
            while low < high do
                local middle = math.floor((low + high) / 2)
                if weights[middle] < wanted then low = middle + 1 else high = middle end
            end
            return low
        end

        function request()
            if not touches then return alone end
            local key = pick()
            local index = math.random() < reads and key or -key
            local made = requests[index]
            if not made then
                local path = "/v1/properties/key-" .. (key - 1)
                if index > 0 then
                    made = wrk.format("GET", path)
                else
                    made = wrk.format("PUT", path, {["Content-Type"] = "application/json"}, VALUE)
                end
                requests[index] = made
            end
            return made
        end

        function done(summary, latency)
            local errors = summary.errors
            io.write(string.format("MARK %.0f %.0f %.0f %.0f %.3f %.3f %.3f %.3f %.3f %.3f\\n",
                summary.requests, summary.duration, errors.status,
                errors.connect + errors.read + errors.write + errors.timeout,
                latency.mean, latency:percentile(50), latency:percentile(90),
                latency:percentile(99), latency:percentile(99.9), latency.max))
        end

        """
        .replacing("VALUE", with: "'\(value)'")
        .replacing("MARK", with: mark)
}
