# %% [markdown]
# # Two learners: a table and an image of the same thing
#
# Treviño Gavito, Klabjan and Utke's idea: boost with a weak learner for each modality and choose their steps together.

# %%
import datasets
import hetcore as hc
from hetcore.data.splits import label_split

data = datasets.load("digits_table_and_pixels").sample(0.5, seed=0)
y = label_split(data, fraction=0.5, seed=0)
data

# %%
settings = dict(n_iterations=6, random_state=0)
for part in (data.source_names, *([name] for name in data.source_names)):
    model = hc.TwoWeakLearnerClassifier(**settings).fit(data.select(sources=part), y, eval_y=data.y)
    print(f"{' and '.join(part)}: {model.history_['metric:held_out'][-1]:.1%} wrong")
