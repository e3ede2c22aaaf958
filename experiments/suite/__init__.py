r"""The open suite as a judge: methods and peers on many problems, the same labels for each, and who wins where.

python -m experiments.suite run --use consensus --half choosing --methods GBC,CatBoost2hop \
    --shares 10,50,90 --splits 5 --results FOLDER
python -m experiments.suite table --use consensus --half choosing --method GBC --results FOLDER
python -m experiments.suite seconds --use consensus --half choosing --method GBC --results FOLDER

Defaults are chosen on the choosing half and judged on the reporting half.
"""
