"""Ten stops on the way of your own text, each with a question to predict."""

import streamlit as st

from explorer.analysis.tour import NORMS, STOPS, Seen, tour_taps
from explorer.figures.tour import answer_bars
from explorer.ui.chart import chart
from explorer.ui.page import open_page
from explorer.ui.tour import prediction, tour_head, tour_way

page = open_page("tour")
step = tour_head(page, [stop.title for stop in STOPS])
stop = STOPS[step]
st.subheader(stop.title, anchor=False)
st.markdown(stop.idea)
run = page.run(taps=tour_taps(page.blueprint.config), norms=NORMS)
question = stop.ask(
    Seen(
        trace=run.trace,
        labels=run.labels,
        config=page.blueprint.config,
        text=page.view.prompt,
        label=page.tokenizer.label,
    )
)
st.markdown(f"**Predict:** {question.asks}")
guess = prediction(question.options, page.view.guess)
if guess is not None:
    right = question.options[question.answer]
    if guess == question.answer:
        st.success("Yes, as this run shows:", icon=":material/check:")
    else:
        st.info("Not quite. This run shows:", icon=":material/lightbulb:")
    chart(
        answer_bars(question.options, question.values, question.answer, question.unit),
        name="answer",
        summary=f"The right answer is {right}.",
    )
    st.markdown(question.because)
tour_way(page, len(STOPS), stop.page)
