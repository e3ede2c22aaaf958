# %% [markdown]
# # Ten minutes with hetcore
#
# Several tables describe overlapping sets of things, several graphs link them, some have a label. Here: 1,797 images
# of digits, five tables of image features, two graphs of alike shapes, and one label in ten.

# %%
import datasets
import hetcore as hc
from hetcore import metrics
from hetcore.data.splits import label_split

data = datasets.load("digits_views")
data

# %% [markdown]
# What was found while reading, a line each; nothing is changed silently.

# %%
data.report

# %% [markdown]
# ## Train, and watch it
#
# The widget has a slider for each parameter that the estimator shows. Press Train, pause, go round by round, drag the
# timeline. The cells below run meanwhile. `widget.train()` and `widget.wait()` do the same without a hand.

# %%
y = label_split(data, fraction=0.1, seed=0)
widget = hc.watch(hc.GBCClassifier(n_iterations=15, random_state=0), data, y, eval_y=data.y)
widget

# %%
widget.train()
model = widget.wait()
print(f"wrong on the hidden digits: {model.history_['metric:held_out'][-1]:.1%}")
model

# %% [markdown]
# ## Why does it say so?
#
# Each source and each graph has a weight, and each prediction is a sum of what they say.

# %%
print({name: round(weight, 2) for name, weight in model.source_weights_.items()})
hidden = [at for at in range(data.n) if y[at] is None]
predicted = model.predict(data)
print(f"error over the hidden ones: {metrics.error_rate(data.y[hidden], predicted[hidden]):.1%}")

# %% [markdown]
# ## What if?
#
# Every change of the data is a new `HetData`, which shares what did not change; it remembers how it was made.

# %%
without_pixels = data.select(sources=[name for name in data.source_names if name != "pix"])
again = hc.GBCClassifier(n_iterations=15, random_state=0).fit(without_pixels, y, eval_y=data.y)
print(f"without the table of pixels: {again.history_['metric:held_out'][-1]:.1%}")
print(without_pixels.steps)

# %% [markdown]
# ## Keep it
#
# A model file holds numbers and text only, no pickle: `hc.load` checks every value, whoever sent it.

# %%
hc.save(model, "digits.hetcore")
print((hc.load("digits.hetcore").predict(data) == predicted).all())
