"""An application that the controller looks after: a queue with a budget and a shared health check."""

from sedano import Sedano

app = Sedano("tended")
app.budget("default", least=2, most=40)
mail = app.health_check("mail", shared=True)
