"""The live view of a training in a notebook: `hetcore.watch` and `hetcore.LiveView`; they need anywidget.

`live.js` is the whole front end, one ES module without a build step. It draws its own charts: Plotly's script alone has
4.8 MB, which every saved notebook would carry.
"""
