"""An application that the controller looks after: a queue with a budget, a shared health check, and a spending limit."""

from sedano import Sedano

app = Sedano("tended")
app.budget("default", least=2, most=40)
app.spending("0.50 USD", tenant="acme")
mail = app.health_check("mail", shared=True)
