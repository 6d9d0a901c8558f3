#include <fmt/format.h>

#include "report/page.hpp"
#include "report/plot.hpp"

namespace matapprox::report {
namespace {

constexpr const char* kLightPage =
    "--page:#ffffff;--panel:#f6f7f9;--rule:#d9dce1;--soft:#4b5563;--link:#1b5fb0;--best:#e7f0fb;";
constexpr const char* kDarkPage =
    "--page:#14161a;--panel:#1d2026;--rule:#363b44;--soft:#b0b6c0;--link:#7ab8ff;--best:#1d3350;";

std::string variables(bool dark) {
  std::string text = dark ? kDarkPage : kLightPage;
  const auto add = [&](const Ink& ink) {
    text += fmt::format("{}:{};", ink.variable, dark ? ink.dark : ink.light);
  };
  for (const Ink& ink : {kText, kAxis, kGrid, kFront, kNeutral}) add(ink);
  for (const Style& style : kStyles) add(style.ink);
  return text;
}

constexpr const char* kRules = R"css(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
header,main,footer{max-width:70rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.5rem}
.subtitle{margin:0;color:var(--soft);font-size:.95rem}
h1{margin:.1rem 0 1.2rem;font-size:clamp(1.5rem,1.1rem + 1.8vw,2.2rem);line-height:1.2;
overflow-wrap:anywhere}
h2{margin:0 0 .5rem;font-size:1.35rem;line-height:1.3}
h3{margin:0 0 .5rem;font-size:1rem}
p{margin:.4rem 0;max-width:46rem;overflow-wrap:anywhere}
.headline{max-width:56rem;font-size:1.2rem;line-height:1.45;font-weight:600}
.note,figcaption,.notes{color:var(--soft);font-size:.9rem}
.notes{padding-left:1.2rem;max-width:46rem}
.notes li{margin:.25rem 0}
a{color:var(--link)}
a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:3px solid var(--link);
outline-offset:2px}
.facts{display:flex;flex-wrap:wrap;gap:.6rem 2rem;margin:1.2rem 0;padding:.9rem 1.1rem;
background:var(--panel);border-radius:.5rem}
.facts div{min-width:6rem;max-width:100%}
.facts dt{color:var(--soft);font-size:.82rem}
.facts dd{margin:0;font-weight:600;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
nav{position:sticky;top:0;z-index:1;background:var(--page);border-bottom:1px solid var(--rule)}
nav ul{display:flex;flex-wrap:wrap;gap:.1rem 1.2rem;list-style:none;max-width:70rem;margin:0 auto;
padding:.45rem 1.25rem;font-size:.92rem}
nav a{display:inline-block;padding:.2rem 0;text-decoration:none}
nav a:hover{text-decoration:underline}
section{padding-top:2rem;scroll-margin-top:2.2rem}
figure{margin:.8rem 0}
.chart svg{font-family:inherit;display:block;width:100%;height:auto;overflow:visible}
.legend{display:flex;flex-wrap:wrap;gap:.1rem 1.3rem;list-style:none;margin:0 0 .5rem;padding:0;
font-size:.92rem}
.chart .narrow{display:none}
figcaption{margin-top:.5rem;max-width:46rem}
.scroll{overflow-x:auto;margin:.8rem 0;border-radius:.3rem}
table{border-collapse:collapse;font-size:.9rem;min-width:100%}
caption{text-align:left;color:var(--soft);padding:0 0 .5rem;font-size:.9rem}
th,td{padding:.42rem .6rem;text-align:left;border-bottom:1px solid var(--rule);vertical-align:top;
white-space:nowrap}
thead th{white-space:normal;vertical-align:bottom;border-bottom:2px solid var(--axis);color:var(--soft);font-weight:600}
tbody th{font-weight:600}
.number{text-align:right;font-variant-numeric:tabular-nums}
.best{background:var(--best);font-weight:700}
.long{white-space:normal;min-width:16rem;color:var(--soft);font-size:.88rem}
.mark{font-size:1.05em}
.swatch{display:inline-block;width:1.5em;vertical-align:middle}
.swatch span{display:block;background:currentColor}
.gallery{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,24rem),1fr));
gap:1.6rem 2rem;margin:1rem 0}
.images{display:grid;grid-template-columns:1fr 1fr;gap:.8rem}
.images:has(.image:nth-child(5)){grid-template-columns:1fr 1fr 1fr}
.image:nth-child(4):nth-last-child(2){grid-column:2}
.group{min-width:0}
.image:only-child{grid-column:1/-1}
.group:has(.image:only-child){grid-row:span 2}
.image{margin:0}
.image img{display:block;width:100%;height:auto;background:#fff;border:1px solid var(--rule)}
.image .crisp{image-rendering:pixelated}
.image figcaption{font-size:.85rem;margin-top:.25rem}
.colors{display:flex;flex-wrap:wrap;align-items:flex-start;gap:.3rem 1rem;margin:.6rem 0;
font-size:.9rem;color:var(--soft)}
.colors .label{min-width:12rem}
.scale{width:20rem;max-width:100%}
.bar{height:.8rem;border:1px solid var(--rule)}
.ends{display:flex;justify-content:space-between;font-variant-numeric:tabular-nums;font-size:.85rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:.8rem 1rem;border-radius:.3rem;background:var(--panel);font-size:.88rem;line-height:1.5}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
details{margin:.8rem 0}
summary{cursor:pointer;color:var(--link)}
footer{margin-top:3rem;padding-top:1rem;padding-bottom:2.5rem;color:var(--soft);font-size:.88rem}
@media(max-width:46rem){
header{padding-top:1.4rem}
header,main,footer{padding-left:1rem;padding-right:1rem}
nav{position:static}
nav ul{padding-left:1rem;padding-right:1rem}
.chart .wide{display:none}
.chart .narrow{display:block;max-width:32rem}
.headline{font-size:1.08rem}
.facts{gap:.6rem 1.4rem}
}
@media print{
html{font-size:10pt}
header{padding-top:0}
.headline{font-size:1.1rem}
.facts{margin:.6rem 0;padding:.5rem .8rem}
header,main,footer{max-width:none;padding-left:0;padding-right:0}
nav{display:none}
.chart .wide{display:block}
.chart .narrow{display:none}
figure,.group,tr,pre{break-inside:avoid}
h2,h3{break-after:avoid}
.gallery{grid-template-columns:1fr 1fr}
.scroll{overflow:visible}
table{font-size:8pt;break-inside:avoid}
th,td{padding:.25rem .35rem;white-space:normal}
.number{white-space:nowrap}
.chart svg{max-width:39rem}
details:not([open]){display:none}
section{padding-top:1.2rem}
.bar,.mark,.best,.facts,svg{-webkit-print-color-adjust:exact;print-color-adjust:exact}
a{color:inherit;text-decoration:none}
}
)css";

}  // namespace

std::string page_style() {
  // Printed pages are white, whatever the color scheme of the screen.
  return fmt::format(
      ":root{{color-scheme:light dark;{}}}\n"
      "@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n{}",
      variables(false),
      variables(true),
      std::string(kRules).substr(1));
}

}  // namespace matapprox::report
