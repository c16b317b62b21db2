//! Reports in a real browser: what they show is there, their pictures decode, they ask the network for nothing and
//! nothing sticks out on a phone. Catches markup, style and image errors that no test of strings can see.
//!
//! Where no Chromium or Chrome is installed the test says so and looks at the text of the pages alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{directory, succeed};

/// Programs that will do, best first.
const BROWSERS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// Widths at which a page must fit: a phone, a desktop.
const WIDTHS: [u32; 2] = [390, 1200];

/// A report, and how many of its elements there must be at least.
struct Report {
    path: PathBuf,
    wanted: &'static [(&'static str, usize)],
}

/// What the browser says about one page at one width; the wrapper page writes it, a line each.
#[derive(Debug, PartialEq)]
struct Seen {
    /// Width the document needs.
    scroll: u32,
    /// Elements that stick out to the right, outside of boxes that scroll by themselves.
    outside: String,
    /// Pictures that did not decode.
    broken: u32,
    /// Things that were fetched.
    fetched: u32,
    /// How many elements each selector finds.
    counts: Vec<usize>,
}

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let named = |name: &str| folders.iter().map(|f| f.join(name)).find(|p| p.is_file());
    BROWSERS.iter().find_map(|name| named(name))
}

/// A command, and how many elements of each selector must be on its page.
type Case = (&'static [&'static str], &'static [(&'static str, usize)]);

/// Commands that write every kind of report.
#[rustfmt::skip]
const REPORTS: [Case; 9] = [
    (
        &["train", "mlp-1x8", "--data", "linear?shape=64&train=96&test=40", "--epochs", "3"],
        &[("h1", 1), (".answer p", 1), ("figure svg", 2), ("table", 1), ("dl dt", 3)],
    ),
    (
        &["geometry", "resnet18", "--activation", "gelu", "--input", "1x16x16", "--method", "exact"],
        // Frequencies, pixels, profile, spectrum, matrix; 24 first and 8 last directions, each in two pictures.
        &[("h1", 1), (".answer p", 1), (".facts li", 4), ("figure svg", 5), (".tiles img", 48), ("pre code", 1), ("dl dt", 3)],
    ),
    (
        &["compare", "resnet18", "mlp-2x50", "--activation", "gelu", "--bias", "zero", "--input", "1x16x16", "--method", "exact"],
        // Two columns of two maps, one gallery, two matrices; spectrum, profile and Corr for both.
        &[("h1", 1), (".answer p", 1), (".columns > div", 8), ("figure svg", 9), (".tiles img", 24), ("pre code", 1)],
    ),
    (
        &["align", "resnet18", "--activation", "gelu", "--data", "linear?shape=1x16x16&train=60&test=10"],
        &[("h1", 1), (".answer p", 1), ("figure svg", 2), (".tiles img", 8), ("table", 1), ("pre code", 1)],
    ),
    (
        &["evolution", "logreg", "--data", "linear?shape=1x8x8&train=40&test=10", "--samples", "32"],
        &[("h1", 1), (".answer p", 1), ("figure svg", 3), ("table", 1), ("pre code", 1)],
    ),
    (
        &["regress", "fcn", "--data", "linear?shape=1x8x8&train=60&test=40"],
        &[("h1", 1), (".answer p", 1), ("figure svg", 2), ("table", 1), ("dl dt", 3)],
    ),
    (
        &["spectrum", "gap", "--samples", "200"],
        &[("h1", 1), (".answer p", 1), ("figure svg", 1), ("table", 1), ("dl dt", 3)],
    ),
    (
        &["landscape", "mlp-2x8", "--data", "stripe?shape=3&train=40&test=60", "--networks", "4"],
        // Numbers, parameters, eigenvalues, each network.
        &[("h1", 1), (".answer p", 4), (".facts li", 4), ("figure svg", 4), ("table", 4), ("pre code", 1), ("dl dt", 3)],
    ),
    (
        &["symmetry", "cnn-vec", "--input", "3x4x4", "--width", "4"],
        &[("h1", 1), (".answer p", 1), ("figure svg", 1), ("table", 1), ("dl dt", 3)],
    ),
];

/// Runs them.
fn reports(folder: &Path) -> Vec<Report> {
    let report = |(args, wanted): Case| {
        let out = args[0];
        succeed(folder, &[args, &["--out", out]].concat());
        Report {
            path: folder.join(out).join("report.html"),
            wanted,
        }
    };
    REPORTS.map(report).into()
}

/// A page that holds each report in a frame of each width and writes down what is in them.
///
/// The frames share the origin of the wrapper, so that it can look inside; the reports themselves hold no script.
fn wrapper(reports: &[Report]) -> String {
    let attribute = |text: &str| text.replace('&', "&amp;").replace('"', "&quot;");
    let mut frames = String::new();
    for report in reports {
        let html = attribute(&std::fs::read_to_string(&report.path).unwrap());
        let selectors: Vec<&str> = report.wanted.iter().map(|w| w.0).collect();
        let selectors = selectors.join("|");
        for width in WIDTHS {
            frames += &format!(
                "<iframe width=\"{width}\" height=\"900\" data-wanted=\"{selectors}\" srcdoc=\"{html}\"></iframe>\n"
            );
        }
    }
    format!("<!doctype html><body>{frames}<script>{SCRIPT}</script></body>")
}

/// Runs when everything, frames included, has loaded.
const SCRIPT: &str = r#"
onload = () => {
  const lines = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument, view = frame.contentWindow;
    const scrolls = e => e.closest(".scroll");
    const outside = [...page.body.querySelectorAll("*")].filter(e =>
      !scrolls(e) && !e.closest("svg svg, svg *") && e.getBoundingClientRect().right > frame.clientWidth + 1);
    const broken = [...page.images].filter(i => !i.complete || i.naturalWidth === 0);
    const counts = frame.dataset.wanted.split("|").map(s => page.querySelectorAll(s).length);
    return "seen " + [page.documentElement.scrollWidth, outside.map(e => e.tagName + "." + e.className).join("+") || "-",
      broken.length, view.performance.getEntriesByType("resource").length, counts.join(",")].join(" ");
  });
  document.body.innerHTML = "<pre>" + lines.join("\n") + "</pre>";
};
"#;

/// What the wrapper wrote, and what the browser complained about.
fn look(browser: &Path, folder: &Path, page: &Path) -> (Vec<Seen>, Vec<String>) {
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let output = Command::new(browser)
        .args([
            "--headless",
            "--disable-gpu",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--enable-logging=stderr",
            "--v=0",
            "--timeout=30000",
            "--dump-dom",
        ])
        .arg(profile)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    let program = browser.display();
    assert!(output.status.success(), "{program}: {complaints}");
    // The browser speaks of its own affairs too; what a page causes is marked.
    let complaints = complaints.lines().filter(|l| l.contains("CONSOLE"));
    let lines = dom.lines().filter_map(|l| {
        let line = l.split_once("seen ")?.1;
        let line = line.split('<').next()?;
        let fields: Vec<&str> = line.split(' ').collect();
        let [scroll, outside, broken, fetched, counts] = fields[..] else {
            return None;
        };
        Some(Seen {
            scroll: scroll.parse().ok()?,
            outside: outside.to_string(),
            broken: broken.parse().ok()?,
            fetched: fetched.parse().ok()?,
            counts: counts.split(',').filter_map(|n| n.parse().ok()).collect(),
        })
    });
    (lines.collect(), complaints.map(str::to_string).collect())
}

#[test]
fn reports_look_right_in_a_browser() {
    let folder = directory("browser");
    let reports = reports(&folder);
    for report in &reports {
        let html = std::fs::read_to_string(&report.path).unwrap();
        assert!(!html.contains("<script") && !html.contains("<link"));
        // The only address is a name, that of SVG.
        let addresses = html.matches("://").count();
        let names = html.matches("http://www.w3.org/2000/svg").count();
        assert_eq!(addresses, names, "{}", report.path.display());
    }
    let Some(browser) = browser() else {
        eprintln!(
            "no browser ({}) is installed: layout is not checked",
            BROWSERS.join(", ")
        );
        return;
    };
    let page = folder.join("wrapper.html");
    std::fs::write(&page, wrapper(&reports)).unwrap();
    let (seen, complaints) = look(&browser, &folder, &page);
    assert_eq!(complaints, Vec::<String>::new());
    assert_eq!(seen.len(), reports.len() * WIDTHS.len());
    let asked = reports.iter().flat_map(|r| WIDTHS.map(|w| (r, w)));
    for ((report, width), seen) in asked.zip(seen) {
        let what = format!("{} at {width}: {seen:?}", report.path.display());
        assert_eq!((seen.broken, seen.fetched), (0, 0), "{what}");
        assert_eq!(seen.outside, "-", "{what}");
        assert!(seen.scroll <= width, "{what}");
        for ((selector, least), found) in report.wanted.iter().zip(&seen.counts) {
            assert!(found >= least, "{what}: {found} of {selector}");
        }
    }
}

/// The checks above would see what they look for: a page that overflows, fetches, breaks and logs.
#[test]
fn a_bad_page_is_found_out() {
    let Some(browser) = browser() else {
        return;
    };
    let folder = directory("browser-bad");
    let bad = folder.join("bad.html");
    let html = "<!doctype html><meta charset=\"utf-8\"><div style=\"width: 700px\">wide</div>\
                <img src=\"data:image/png;base64,AAAA\"><img src=\"http://nowhere.invalid/a.png\"><script>console.error('loud')</script>";
    std::fs::write(&bad, html).unwrap();
    let reports = [Report {
        path: bad,
        wanted: &[("h1", 1)],
    }];
    let page = folder.join("wrapper.html");
    std::fs::write(&page, wrapper(&reports)).unwrap();
    let (seen, complaints) = look(&browser, &folder, &page);
    assert!(
        complaints.iter().any(|c| c.contains("loud")),
        "{complaints:?}"
    );
    assert_eq!(seen.len(), 2);
    assert!(
        seen[0].scroll >= 700 && seen[0].outside.contains("DIV"),
        "{seen:?}"
    );
    assert_eq!((seen[0].broken, seen[0].fetched), (2, 1), "{seen:?}");
    assert_eq!(seen[0].counts, [0], "{seen:?}");
    assert_eq!(
        (seen[1].scroll, seen[1].outside.as_str()),
        (1200, "-"),
        "{seen:?}"
    );
}
