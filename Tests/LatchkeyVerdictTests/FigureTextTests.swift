import Testing

@testable import LatchkeyVerdict

struct FigureTextTests {
    @Test(arguments: [
        (0.0, "0"), (7, "7"), (62.14, "62.1"), (999.4, "999"), (999.7, "1.00k"),
        (50_400_000, "50.4M"),
        (1.234e9, "1.23G"), (.nan, "–"), (.infinity, "–"),
    ])
    func `counts have three digits`(value: Double, text: String) {
        #expect(FigureText.count(value) == text)
    }

    @Test(arguments: [
        (308.5, 0, "309"), (0.125, 2, "0.13"), (1.005, 2, "1.00"), (2.5, 0, "3"), (-2.5, 0, "-3"),
    ])
    func `a half is rounded away from zero, as on the page`(
        value: Double,
        digits: Int,
        text: String
    ) {
        #expect(FigureText.fixed(value, digits) == text)
    }

    @Test(arguments: [
        (1, "key", "1 key"), (1_024, "key", "1024 keys"), (2, "query", "2 queries"),
        (0, "thread", "0 threads"), (3, "y", "3 ys"),
    ])
    func `a noun follows its number`(number: Int, noun: String, text: String) {
        #expect(FigureText.counted(number, noun) == text)
    }

    @Test func `durations have units`() {
        #expect(FigureText.duration(nanoseconds: 12.34) == "12.3 ns")
        #expect(FigureText.duration(nanoseconds: 1_200_000) == "1.20 ms")
        #expect(FigureText.given(seconds: 0.09) == "90 ms")
        #expect(FigureText.given(seconds: 0.0125) == "12.5 ms")
        #expect(FigureText.given(seconds: 2) == "2 s")
        #expect(FigureText.given(seconds: 0.2) == "200 ms")
        #expect(FigureText.waitingTime(seconds: 80) == "1 min 20 s")
        #expect(FigureText.waitingTime(seconds: 3_700) == "1 h 1 min")
        #expect(FigureText.percent(0.123) == "12 %")
        #expect(FigureText.change(-0.05) == "−5 %")
    }
}
