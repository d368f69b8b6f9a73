/// The style sheet of the page.
///
/// Colours are chosen for a contrast of at least 4.5 to 1 with the ground in both schemes, and to
/// stay apart for people who see fewer of them.
enum PageStyle {
    static let css = """
        :root{color-scheme:light dark;--ground:#fff;--card:#f4f6f8;--ink:#16191d;--soft:#555d66;\
        --rule:#d5dae0;--good:#00664d;--bad:#a3150b;--badground:#fdecea;\
        --c0:#0065a0;--c1:#b34700;--c2:#00704f;--c3:#9a3a78;--c4:#5646b5;--c5:#7a5d00;--c6:#40474f}
        @media(prefers-color-scheme:dark){:root{--ground:#14171a;--card:#1e2327;--ink:#eceff2;\
        --soft:#a9b2bb;--rule:#3a4249;--good:#5fd3a8;--bad:#ff9d92;--badground:#3a1d1a;\
        --c0:#5ab8f0;--c1:#ff9a5c;--c2:#35cf9f;--c3:#ee9fcb;--c4:#b3abff;--c5:#e0c040;--c6:#c3cad1}}
        @media print{:root{color-scheme:light;--ground:#fff;--card:#fff;--ink:#000;--soft:#333;\
        --rule:#bbb;--good:#00664d;--bad:#a3150b;--badground:#fff;\
        --c0:#0065a0;--c1:#b34700;--c2:#00704f;--c3:#9a3a78;--c4:#5646b5;--c5:#7a5d00;--c6:#40474f}}
        *{box-sizing:border-box}
        html{-webkit-text-size-adjust:100%}
        body{margin:0;background:var(--ground);color:var(--ink);\
        font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
        main,header,footer{max-width:75rem;margin:0 auto;padding:0 1rem}
        header{padding-top:1.5rem}
        header p{max-width:none}
        h1{font-size:1.5rem;line-height:1.25;margin:0 0 .25rem}
        h2{font-size:1.2rem;line-height:1.3;margin:2.5rem 0 .5rem}
        h3{font-size:1rem;margin:1.5rem 0 .25rem}
        p{margin:.4rem 0;max-width:48rem}
        .soft,figcaption{color:var(--soft)}
        code,kbd{font:.92em/1.4 ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
        pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--card);padding:.6rem .8rem;\
        border-radius:.4rem;margin:.5rem 0;font-size:.9rem}
        .answer{background:var(--card);border-left:.35rem solid var(--good);border-radius:.4rem;\
        padding:.8rem 1rem;margin:1rem 0}
        .answer strong{font-size:1.15rem;font-weight:600;display:block;max-width:48rem}
        .warning{background:var(--badground);border-left:.35rem solid var(--bad);\
        border-radius:.4rem;padding:.8rem 1rem;margin:1rem 0}
        .warning b,.bad{color:var(--bad);font-weight:600}
        ul{margin:.4rem 0;padding-left:1.2rem;max-width:48rem}
        .plots{display:grid;gap:1.5rem 2rem;\
        grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr))}
        figure{margin:0;min-width:0}
        figcaption{font-size:.9rem;margin-bottom:.3rem}
        figcaption b{color:var(--ink);display:block;font-size:1rem}
        svg{display:block;width:100%;max-width:36rem;height:auto;overflow:visible}
        svg text{font:11.5px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;\
        fill:var(--ink)}
        svg .tick,svg .axis{fill:var(--soft);font-size:11px}
        .middle{text-anchor:middle}.end{text-anchor:end}
        .grid{stroke:var(--rule);stroke-width:1;fill:none}
        .line{stroke:currentColor;stroke-width:1.3;fill:none;opacity:.65}
        .dotted{stroke-dasharray:1 4;opacity:1}
        .thread{stroke:currentColor;stroke-width:1;stroke-dasharray:1 3;fill:none;opacity:.5}
        .dashed{stroke-dasharray:5 3}
        .bar{stroke:currentColor;stroke-width:1.2;fill:none;opacity:.6}
        .lead{stroke:var(--rule);fill:none}
        .span{stroke:currentColor;stroke-width:2.5;fill:none;opacity:.45}
        svg g{fill:currentColor}
        svg .leading .line{stroke-width:2.6;opacity:1}
        svg .leading .name{font-weight:700}
        .legend{color:var(--soft)}
        \((0..<Mark.colorCount).map { ".c\($0){color:var(--c\($0))}" }.joined())
        .wide{overflow-x:auto;margin:.5rem 0;border:1px solid var(--rule);border-radius:.4rem}
        .wide:focus-visible{outline:3px solid var(--c0)}
        table{border-collapse:collapse;font-size:.82rem;font-variant-numeric:tabular-nums;\
        width:100%}
        .hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
        th,td{padding:.22rem .6rem;text-align:right;white-space:nowrap;\
        border-top:1px solid var(--rule)}
        thead th{vertical-align:bottom;border-top:0;font-weight:600}
        th:first-child{text-align:left;position:sticky;left:0;background:var(--ground);\
        font-weight:600}
        tr.base th,tr.base td{color:var(--soft);font-style:italic}
        tr.best th:first-child::after{content:" ★";color:var(--good)}
        tr.first th,tr.first td{border-top:2px solid var(--soft)}
        td.words{text-align:left;white-space:normal;min-width:14rem}
        dl{display:grid;grid-template-columns:minmax(9rem,auto) 1fr;gap:.15rem 1rem;margin:.5rem 0;\
        font-size:.9rem}
        dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
        footer{padding:2rem 1rem 3rem;color:var(--soft);font-size:.9rem}
        @media(max-width:30rem){body{font-size:15px}dl{grid-template-columns:1fr}\
        dd{margin-bottom:.4rem}}
        @media print{@page{margin:12mm}body{font-size:9.5pt}h2{break-after:avoid}\
        .plots{grid-template-columns:1fr 1fr}figure,.answer,.warning{break-inside:avoid}\
        .wide{overflow:visible;border:0}table{font-size:5.6pt}th,td{padding:.8pt 1.6pt}\
        thead th{white-space:normal}tr{break-inside:avoid}th:first-child{position:static}}
        """
}
