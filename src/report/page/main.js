"use strict";
// Puts the parts of the page in their places.

setUpTheme();
showVerdict();
showDiagnosis();
showDepthChart();
const windowed = [showLayerTable(), ...showGraph()];
showSamples();
showFloatOperators();
setUpDialog();

// Printed pages do not scroll: all rows are there as long as the printer looks.
addEventListener("beforeprint", () => windowed.forEach((rows) => rows.showAll(true)));
addEventListener("afterprint", () => windowed.forEach((rows) => rows.showAll(false)));
