"""The live view of a training in a notebook: `hetcore.watch` and `hetcore.LiveView`; they need anywidget.

The front end is one ES module without a build step: `timeline.js` and `lines.js`, which the studio's pages share (bar,
clip of the round, ordered updates, line charts, alt texts), `live_charts.js` and `live.js`. It loads nothing: Plotly's
script alone has 4.8 MB, which every saved notebook would carry.
"""
