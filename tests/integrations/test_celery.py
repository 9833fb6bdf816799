"""An error of a task keeps its numbers, whatever Celery sends its results as."""

import pytest

import brim

pytestmark = pytest.mark.integrations


def required(budget):
    return brim.fit([brim.Section("rules", "word " * 900, required=True)], budget=budget, model="gpt-5")


@pytest.mark.parametrize("serialiser", ["json", "pickle"])
def test_does_not_fit_crosses_celery(serialiser):
    from celery import Celery

    app = Celery("brim", broker="memory://", backend="cache+memory://")
    app.conf.update(result_serializer=serialiser, accept_content=[serialiser], task_store_eager_result=True)
    task = app.task(required)
    with pytest.raises(brim.DoesNotFit) as raised:
        required(10)
    sent = task.apply(args=(10,))
    received = app.backend.get_result(sent.id)  # As another process reads it.
    assert type(received) is brim.DoesNotFit
    assert (str(received), vars(received)) == (str(raised.value), vars(raised.value))
    assert received.short == received.needed - 10 > 0
